// Package places is about the places in the tree that name every backend, and that
// cannot range over package known: configuration in YAML, which "make generate" writes,
// and what links an SDK. Its tests find what generated parts lack, and what people have
// to write by hand for a new backend: documents, rules, tests.
package places

//go:generate go run generate.go
