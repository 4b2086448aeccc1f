package run

import (
	"net/url"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// isTarget reports whether what to check is a server, not a command.
func isTarget(what string) bool {
	scheme, _, ok := strings.Cut(what, "://")
	return ok && slices.Contains([]string{"http", "https", "tcp"}, scheme)
}

// probe returns the command that checks whether a server is healthy: leaderrun-monitor,
// which keeps package net out of the core. The target is in a variable, because everybody
// can see arguments, and a URL may have a password. It is the variable of the option, so that
// the job's own value of it is replaced.
func (s *session) probe(target string) (proc.Command, error) {
	if err := checkTarget(target); err != nil {
		return proc.Command{}, err
	}
	path, name, err := s.env.FindMonitor()
	return proc.Command{Path: path, Args: []string{name, "probe"}, Env: []string{"LEADERRUN_HEALTH=" + target}}, err
}

// checkTarget refuses an invalid target before the run, as the program would during it.
func checkTarget(target string) error {
	address, tcp := strings.CutPrefix(target, "tcp://")
	u, err := url.Parse(target)
	switch {
	case tcp && (strings.LastIndex(address, ":") < 0 || strings.HasSuffix(address, ":") || strings.Contains(address, "/")):
		return locks.Usagef("--health: invalid address %s (want tcp://127.0.0.1:8080, say)", output.Quote(target))
	case !tcp && (err != nil || u.Host == ""):
		return locks.Usagef("--health: invalid URL %s (want http://127.0.0.1:8080/healthz, say)", output.Quote(target))
	}
	return nil
}
