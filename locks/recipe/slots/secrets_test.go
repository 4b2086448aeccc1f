package slots

import (
	"context"
	"slices"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// A secretive is a lock whose backend has a secret.
type secretive struct{ locks.Lock }

func (secretive) SecretEnv() []string           { return []string{"PASSWORD"} }
func (secretive) Release(context.Context) error { return nil }
func (secretive) Close() error                  { return nil }

// TestSecretsBeforeASlot: hooks that run while we wait, and a run under the lease of an
// enclosing leaderrun, have no slot, and need the secrets as well.
func TestSecretsBeforeASlot(t *testing.T) {
	t.Parallel()
	l := &Lock{turnstile: secretive{}, renewable: map[locks.Lock]bool{}}
	want := []string{"PASSWORD"}
	if got := locks.SecretEnv(l); !slices.Equal(got, want) {
		t.Errorf("before an attempt: got %q, want %q", got, want)
	}
	c := &campaign{lock: l, turnstile: l.turnstile, entered: true}
	c.undo(t.Context())
	if got := locks.SecretEnv(l); !slices.Equal(got, want) {
		t.Errorf("after one that failed: got %q, want %q", got, want)
	}
}
