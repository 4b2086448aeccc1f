package guard

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A guard that dies before it is ready has started nothing. What it has said tells why.
func TestHello(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, said string
		want       error // nil: it is ready
		out        bool  // of tasks
	}{
		{"ready", string(frame{kind: kindReady}.encode()), nil, false},
		{"Go", "runtime: failed to create new OS thread (have 5 already; errno=11)\nruntime: may need to increase max user processes (ulimit -u)\nfatal error: newosproc\n", proc.ErrGuardDied, true},
		{"cgo", "runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n", proc.ErrGuardDied, true},
		{"long", "runtime: failed to create new OS thread\n" + strings.Repeat("x", 2*pages), proc.ErrGuardDied, true},
		{"memory", "fatal error: runtime: cannot allocate memory\n", proc.ErrGuardDied, false},
		{"killed", "", proc.ErrGuardDied, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ours, theirs, err := socketpair()
			if err != nil {
				t.Fatal(err)
			}
			c, err := newConn(ours)
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			go func() {
				for rest := []byte(tt.said); len(rest) > 0; { // as in pieces
					n, err := unix.Write(theirs, rest[:min(len(rest), 40)])
					if err != nil {
						break
					}
					rest = rest[n:]
				}
				_ = unix.Close(theirs)
			}()
			err = c.hello()
			if !errors.Is(err, tt.want) || errors.Is(err, threads.ErrOut) != tt.out {
				t.Errorf("got %v", err)
			}
			if tt.name == "memory" && !strings.Contains(err.Error(), "cannot allocate memory") {
				t.Errorf("%v does not say why", err)
			}
		})
	}
}
