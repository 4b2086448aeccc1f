// Package testscripts is what a user sees, in scripts that run the real programs, as
// they are released, against real servers:
//
//	go test ./testscripts
//	go test ./testscripts -run 'TestScripts$/^signals$' -v           # signals.txtar, and what it did
//	go test ./testscripts -run 'TestScripts$/^bundle$/^version$'     # with the bundle
//	go test -race ./testscripts -run 'TestScripts$/^race$'           # with a core that has the race detector
//
// Each *.txtar is a topic. All run with the helper programs. Those of what may differ in
// a bundle run with that, too, and some with the race detector; scripts_test.go says
// which. The language is that of [github.com/rogpeppe/go-internal/testscript];
// commands_test.go tells which commands there are besides.
package testscripts
