// Package places deals with the places in the tree that name every backend but cannot
// range over package known: configuration in YAML, which "make generate" writes, and code
// that links an SDK. Its tests find what is missing from generated parts, and from what
// people have to write by hand for a new backend: documents, tests.
package places

//go:generate go run generate.go
