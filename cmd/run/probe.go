package run

import (
	"net/url"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// probe returns the command that checks whether a server is healthy: leaderrun-monitor,
// which keeps package net out of the core. The target is in a variable, because everybody
// can see arguments, and a URL may have a password. It is the variable of the option, so that
// the job's own value of it is replaced.
func (s *session) probe(kind, target string) (proc.Command, error) {
	if err := checkTarget(kind, target); err != nil {
		return proc.Command{}, err
	}
	path, name, err := s.env.FindMonitor()
	env := []string{"LEADERRUN_HEALTH_" + strings.ToUpper(kind) + "=" + target}
	return proc.Command{Path: path, Args: []string{name, "probe", kind}, Env: env}, err
}

// checkTarget refuses an invalid target before the run, as the program would during it.
func checkTarget(kind, target string) error {
	u, err := url.Parse(target)
	switch {
	case kind == "http" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https"):
		return locks.Usagef("--health-http: invalid URL %s (want http://127.0.0.1:8080/healthz, say)", output.Quote(target))
	case kind == "tcp" && (strings.LastIndex(target, ":") < 0 || strings.HasSuffix(target, ":") || strings.Contains(target, "/")):
		return locks.Usagef("--health-tcp: invalid address %s (want 127.0.0.1:8080, say)", output.Quote(target))
	}
	return nil
}
