module github.com/iamfaham/recolva

go 1.25.0
