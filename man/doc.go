// Package man has the manual pages, in mdoc(7), and what writes those parts of them
// that follow from the program itself: "make generate".
//
// A page is written by hand. Between two comments,
//
//	.\" generated: options
//	.\" end generated
//
// stands what is made from the definitions that the program runs on:
//
//	options         the options of the subcommand that the page is about
//	variables       their environment variables
//	keys            the options that may stand in a config file
//	backend SCHEME  the facts about a backend
package man

//go:generate go run generate.go
