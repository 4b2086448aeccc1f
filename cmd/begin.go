package cmd

import (
	"os"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// beginHelper starts the helper program that a run is going to need before its
// options are read, which takes a tenth as long as the helper to start. Inside
// a job none may be needed, as the lock may be ours already.
func (p *program) beginHelper(routed []string) {
	if routed[1] != "run" || os.Getenv("LEADERRUN_SOCKET") != "" {
		return
	}
	backend := os.Getenv("LEADERRUN_BACKEND")
	for _, arg := range routed[2:slices.Index(routed, "--")] {
		if value, ok := strings.CutPrefix(arg, "--backend="); ok {
			backend = value
		}
	}
	if u, err := locks.Parse(backend); err == nil && !slices.Contains(p.Registry.Schemes(), u.Scheme) {
		p.Programs.Begin(u.Scheme)
	}
}
