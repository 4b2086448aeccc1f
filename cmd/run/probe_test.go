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
	for kind, target := range map[string]string{"http": "http://u:opensesame@h/x?token=opensesame", "tcp": "opensesame:80"} {
		c, err := s.probe(kind, target)
		if err != nil || strings.Contains(strings.Join(c.Args, " "), "sesame") {
			t.Errorf("%s: got %q, %v", kind, c.Args, err)
		}
		if want := "LEADERRUN_HEALTH_" + strings.ToUpper(kind) + "=" + target; !slices.Equal(c.Env, []string{want}) {
			t.Errorf("%s: got %q, want %q", kind, c.Env, want)
		}
	}
}
