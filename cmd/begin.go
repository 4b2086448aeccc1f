package cmd

import (
	"os"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// begin starts the processes that a run is going to need before its options are
// read, which takes a tenth as long as they to start. Inside a job none may be
// needed, as the lock may be ours already.
func (p *program) begin(routed []string) {
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
	p.starter = newStarter()
}

// end ends what was begun and not used.
func (p *program) end() {
	p.Programs.End()
	if p.starter != nil {
		p.starter.Close()
	}
}
