// The program native is no program but the C library of recolva, librecolva.so,
// librecolva.dylib or recolva.dll:
//
//	go build -buildmode=c-shared -o dist/librecolva.so ./native
//
// recolva.h, which is written by hand, documents it. (The header that the Go tool
// writes beside the library is not needed.)
package main

func main() {} // demanded by -buildmode=c-shared, never called
