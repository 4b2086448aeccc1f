// Package testscripts tests what a user sees, with scripts that run the real programs, as
// they are released, against real servers:
//
//	go test ./testscripts
//	go test ./testscripts -run 'TestScripts$/^signals$' -v           # signals.txtar, and what it did
//	go test ./testscripts -run 'TestScripts$/^bundle$/^version$'     # with the bundle
//	go test ./testscripts -run 'TestScripts$/^every-backend-zk$'     # every-backend.txtar, with ZooKeeper
//	go test -race ./testscripts -run 'TestScripts$/^race$'           # with a core that has the race detector
//
// Each *.txtar is a topic. All run with the helper programs. Topics that may differ in a
// bundle also run with a bundle, and some with the race detector; scripts_test.go lists
// them. The language is that of [github.com/rogpeppe/go-internal/testscript];
// commands_test.go documents the additional commands. A script that fails on a busy machine
// runs again. The locks of scripts that share a server are below $NAME, which differs in
// each attempt.
//
// suites.md lists what the test suites of similar tools test, and what tests that here.
package testscripts
