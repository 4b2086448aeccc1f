package cmd

import (
	"net/url"
	"os"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// probeRole is the name by which a bundle starts itself as the program
// leaderrun-probe.
const probeRole = "lr-probe"

// probe returns the command that asks a server whether it is well. It is a
// program of its own, which keeps package net out of the core.
func (p *program) probe(kind, target string) (proc.Command, error) {
	if err := checkTarget(kind, target); err != nil {
		return proc.Command{}, err
	}
	if linkedProbe != nil {
		self, err := os.Executable()
		return proc.Command{Path: self, Args: []string{probeRole, kind, target}}, err
	}
	path, err := p.Programs.Tool("probe")
	return proc.Command{Path: path, Args: []string{path, kind, target}}, err
}

// checkTarget refuses a target that cannot be meant, as the program would, only
// sooner.
func checkTarget(kind, target string) error {
	u, err := url.Parse(target)
	switch {
	case kind == "http" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https"):
		return &locks.UsageError{What: "--health-http " + output.Quote(target) + " is no URL like http://127.0.0.1:8080/healthz"}
	case kind == "tcp" && (strings.LastIndex(target, ":") < 0 || strings.HasSuffix(target, ":") || strings.Contains(target, "/")):
		return &locks.UsageError{What: "--health-tcp " + output.Quote(target) + " is no address like 127.0.0.1:8080"}
	}
	return nil
}

// beProbe is leaderrun-probe, if this process was started to be it.
func beProbe(args []string) (status int, ok bool) {
	if linkedProbe == nil || len(args) == 0 || args[0] != probeRole {
		return 0, false
	}
	return linkedProbe(args), true
}
