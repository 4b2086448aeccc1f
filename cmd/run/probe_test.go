package run

import (
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/cmd/env"
)

// TestTargetIsNotAnArgument: everybody can see the arguments of a health check.
func TestTargetIsNotAnArgument(t *testing.T) {
	t.Parallel()
	s := &session{env: &env.Env{Monitor: func([]string) int { return 0 }}}
	for _, target := range []string{"http://u:opensesame@h/x?token=opensesame", "tcp://opensesame:80"} {
		c, err := s.probe(target)
		if err != nil || strings.Contains(strings.Join(c.Args, " "), "sesame") {
			t.Errorf("%s: got %q, %v", target, c.Args, err)
		}
		if want := "LEADERRUN_HEALTH=" + target; !slices.Equal(c.Env, []string{want}) {
			t.Errorf("%s: got %q, want %q", target, c.Env, want)
		}
	}
}

// TestTargets: what is no URL of a server is a command.
func TestTargets(t *testing.T) {
	t.Parallel()
	for what, valid := range map[string]bool{
		"http://h/x": true, "https://h": true, "tcp://h:1": true, "tcp://[::1]:80": true,
		"http://": false, "http:///x": false, "http://h:x/": false, "tcp://h": false, "tcp://h:": false, "tcp://h:1/x": false,
	} {
		if err := checkTarget(what); !isTarget(what) || (err == nil) != valid {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, what := range []string{"curl -fsS http://h/x", "check", "127.0.0.1:80", "ftp://h/", "http:/h"} {
		if isTarget(what) {
			t.Errorf("%s counts as a server", what)
		}
	}
}
