//go:build unix

package testscripts

import (
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/faults/programs"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// The programs of this test process: as they are released, as one file, and as a core
// that has the race detector.
var (
	released programs.Programs
	bundle   = programs.Programs{Bundle: true}
	raced    = programs.Programs{Race: true}
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "asuser" { // a script has started us; see setup
		asUser()
	}
	// Scripts wait most of their time; a machine of two cores runs many at once.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	tester.Forget()
	if err := os.Setenv("LEADERRUN_CONFIG", os.DevNull); err != nil {
		panic(err)
	}
	syscall.Umask(0o022)           // whatever the tester's is: other users look into what scripts make
	for fd := 3; fd < 1024; fd++ { // what the tester has left open
		syscall.CloseOnExec(fd)
	}
	heedSignals()
	code := m.Run()
	for _, p := range []*programs.Programs{&released, &bundle, &raced} {
		p.Remove()
	}
	os.Exit(code)
}

// build builds programs, if that was not done.
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

// heedSignals sees to it that scripts are not started with signals ignored, as
// programs in the background of a shell script are: what is caught here is
// reset in them.
func heedSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}
