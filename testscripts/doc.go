// Package testscripts is what a user sees, in scripts that run the real
// programs, against real servers:
//
//	go test ./testscripts
//	go test ./testscripts -run TestScripts/signals -v    # signals.txtar, and what it did
//
// Each *.txtar is a topic. The language is that of
// [github.com/rogpeppe/go-internal/testscript]; commands_test.go tells which
// commands there are besides.
package testscripts
