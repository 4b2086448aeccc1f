//go:build bench && linux

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/runner/socket"
)

// inits adds up the time of the initialization of the programs' packages.
func (b *bench) inits(t *testing.T) section {
	const rounds = 100
	var core, helper sample
	for range rounds {
		core = append(core, initTime(t, b.core, "version"))
		helper = append(helper, initTime(t, b.helper, "--version"))
	}
	return section{
		title:    "Package initialisation",
		commands: []string{"GODEBUG=inittrace=1 leaderrun version", "GODEBUG=inittrace=1 leaderrun-etcd --version"},
		figures: []figure{
			atMost("all packages of the core", "ms", core, 1),
			atMost("all packages of leaderrun-etcd", "ms", helper, 0),
		},
	}
}

var initClock = regexp.MustCompile(`(?m)^init \S+ @\S+ ms, (\S+) ms clock`)

// initTime returns the sum of the clock column in ms.
func initTime(t *testing.T, argv ...string) (sum float64) {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", argv[0], err, &stderr)
	}
	lines := initClock.FindAllStringSubmatch(stderr.String(), -1)
	if len(lines) == 0 {
		t.Fatalf("%s: no trace of its initialization", argv[0])
	}
	for _, m := range lines {
		var clock float64
		if _, err := fmt.Sscan(m[1], &clock); err != nil {
			t.Fatal(err)
		}
		sum += clock
	}
	return sum
}

// starts measures commands that only start, answer and end.
func (b *bench) starts(t *testing.T) section {
	const rounds = 500
	version := command{argv: []string{b.core, "version"}}
	nothing := command{argv: []string{look(t, "true")}}
	start := alternate(rounds, func() use { return b.run(t, version) }, func() use { return b.run(t, nothing) })
	check := b.checkInside(t)
	asks := alternate(rounds, func() use { return b.run(t, check) }, func() use { return b.run(t, nothing) })
	return section{
		title:    "Start-up: commands that only start, answer and end, and true(1)",
		commands: []string{version.shown(), check.shown(), nothing.shown()},
		figures: []figure{
			versus("leaderrun version, wall", "ms", start.ours.wall, start.peer.wall, 0),
			versus("leaderrun version, CPU", "ms", start.ours.cpu, start.peer.cpu, 0),
			versus("leaderrun check, wall", "ms", asks.ours.wall, asks.peer.wall, 0),
			versus("leaderrun check, CPU", "ms", asks.ours.cpu, asks.peer.cpu, 0),
		},
	}
}

// checkInside returns a command that asks for a lease, of us: those who do not descend from a
// leaderrun get no answer from it.
func (b *bench) checkInside(t *testing.T) command {
	server, err := socket.Serve(func() socket.Answer { return socket.Answer{Lock: "check"} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return command{argv: []string{b.core, "check"}, env: []string{"LEADERRUN_SOCKET=" + server.Address()}}
}
