// Package man has the manual pages, in mdoc(7), and the generator of those parts that
// follow from the program itself: "make generate".
//
// A page is written by hand. Between two comments,
//
//	.\" generated: options
//	.\" end generated
//
// is the text that is generated from the definitions that the program runs on:
//
//	options         the options of the subcommand that the page is about
//	variables       their environment variables
//	keys            the options that a config file may have
//	backend SCHEME  the facts about a backend
//	FILE.md TITLE   the text below a heading in docs/
package man

//go:generate go run generate.go
