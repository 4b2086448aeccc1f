package caslease_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestZeroTraits: a backend need not say anything about its store.
func TestZeroTraits(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		open := func(holder string) locks.Lock {
			l := caslease.New(s.client("host", "p"), caslease.Traits{Clock: clock.Bubble{}}, options(holder))
			t.Cleanup(func() { _ = l.Close() })
			return l
		}
		drive.Hold(t, open("a")) // it dies
		if g, err := open("b").Acquire(drive.Context(t), false); err != nil || g.Token < 2 {
			t.Errorf("the waiter: %+v, %v", g, err)
		}
		s.SetState(leaseCell, "?")
		_, err := open("c").Acquire(drive.Context(t), true)
		if want := `the cell "` + lockName + `" was not made by leaderrun; nothing of it was changed; choose another prefix`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a state that somebody else wrote: got %v; want %s", err, want)
		}
		if all := locks.SecretEnv(open("d")); len(all) > 0 {
			t.Errorf("secrets: %q", all)
		}
		if all := open("e").(locks.SecretSender).SentSecrets(); len(all) > 0 {
			t.Errorf("sent secrets: %q", all)
		}
	})
}

// TestSecrets: the handle reports the variables with credentials.
func TestSecrets(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := caslease.New(s.client("host", "p"), caslease.Traits{Clock: clock.Bubble{}, Secrets: []string{"SIM_TOKEN"}, Sent: func() []string { return []string{"secret"} }}, options("a"))
		t.Cleanup(func() { _ = l.Close() })
		if all := locks.SecretEnv(l); !slices.Equal(all, []string{"SIM_TOKEN"}) {
			t.Errorf("secrets: %q", all)
		}
		if all := l.SentSecrets(); !slices.Equal(all, []string{"secret"}) {
			t.Errorf("sent secrets: %q", all)
		}
	})
}
