package testscripts

import (
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// The programs of this test process: as released, as a bundle, and as a core with the
// race detector.
var (
	released programs.Programs
	bundle   = programs.Programs{Bundle: true}
	raced    = programs.Programs{Race: true}
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "asuser" { // a script started us; see setup
		asUser()
	}
	// Scripts mostly wait; a machine with two cores can run many at once.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	tester.Forget()
	if err := os.Setenv("LEADERRUN_CONFIG", os.DevNull); err != nil {
		panic(err)
	}
	syscall.Umask(0o022)           // whatever the tester's is: other users read what scripts write
	for fd := 3; fd < 1024; fd++ { // close what the tester has left open
		syscall.CloseOnExec(fd)
	}
	heedSignals()
	code := m.Run()
	for _, p := range []*programs.Programs{&released, &bundle, &raced} {
		p.Remove()
	}
	os.Exit(code)
}

// build builds programs unless they have been built.
func build(t *testing.T, p *programs.Programs, packages ...string) {
	t.Helper()
	if err := p.Build(packages...); err != nil {
		t.Fatal(err)
	}
}

// buildReleased builds all programs as they are released.
func buildReleased(t *testing.T) {
	t.Helper()
	build(t, &released, programs.Leaderrun, programs.Helpers)
}

// heedSignals makes sure that scripts are not started with ignored signals, as background
// programs of a shell script are: signals that are caught here are reset in them.
func heedSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}
