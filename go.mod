module github.com/iamfaham/recolva

go 1.25.0

require github.com/rogpeppe/go-internal v1.16.0 // tests of the command are scripts with their data inside

require (
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)
