package runner

import (
	"slices"
	"testing"

	"github.com/leaderrun/leaderrun/runner/proc"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	ours := []string{
		"HOME=/", "LEADERRUN_TOKEN=1", "LEADERRUN_SOCKET=/run/outer/s", "LEADERRUN_HOLDER=outer", "LEADERRUN_LOCK_NAME=outer",
		"LEADERRUN_BACKEND=etcd://u:p@h", "LEADERRUN_LOCK=x", "LEADERRUN_TOKENS=1", "PASSWORD=p", "PASSWORDS=q", "EMPTY=", "ODD",
	}
	promised := []string{"LEADERRUN_TOKEN=18446744073709551615", "LEADERRUN_LOCK_NAME=nightly", "LEADERRUN_HOLDER=host/1/a"}
	c := &run{Options: Options{Lock: "nightly", Holder: "host/1/a", Command: proc.Command{Env: ours}}}
	tests := []struct {
		scrub bool
		want  []string
	}{
		{false, []string{"HOME=/", "LEADERRUN_BACKEND=etcd://u:p@h", "LEADERRUN_LOCK=x", "LEADERRUN_TOKENS=1", "PASSWORD=p", "PASSWORDS=q", "EMPTY=", "ODD"}},
		{true, []string{"HOME=/", "LEADERRUN_LOCK=x", "LEADERRUN_TOKENS=1", "PASSWORDS=q", "EMPTY=", "ODD"}},
	}
	for _, test := range tests {
		c.ScrubEnv = test.scrub
		got := c.environment([]string{"PASSWORD", "NOT_SET"}, 1<<64-1, 0)
		if want := append(test.want, promised...); !slices.Equal(got, want) {
			t.Errorf("scrub %t: got %q, want %q", test.scrub, got, want)
		}
	}
	if ours[1] != "LEADERRUN_TOKEN=1" {
		t.Error("our own environment was changed")
	}
}
