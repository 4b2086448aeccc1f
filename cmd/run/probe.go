package run

import (
	"net/url"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// probe returns the command that asks a server whether it is well. It is a
// program of its own, which keeps package net out of the core.
func (s *session) probe(kind, target string) (proc.Command, error) {
	if err := checkTarget(kind, target); err != nil {
		return proc.Command{}, err
	}
	path, as, err := s.Tool("probe")
	return proc.Command{Path: path, Args: []string{as, kind, target}}, err
}

// checkTarget refuses a target that cannot be meant, as the program would, only
// sooner.
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
