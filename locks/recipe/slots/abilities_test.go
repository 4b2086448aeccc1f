package slots

import (
	"context"
	"slices"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// A capable lock has all abilities.
type capable struct{ locks.Lock }

func (capable) Close() error { return nil }

func (capable) Abilities(context.Context) ([]locks.Ability, error) {
	return []locks.Ability{
		locks.CanInspect, locks.CanQueue, locks.CanRecord, locks.CanAsk,
		locks.CanList, locks.CanWatch, locks.CanBreak, locks.CanProbe, locks.CanForget,
	}, nil
}

// TestAbilities: a lock with slots has those abilities of the backend that it has methods for.
func TestAbilities(t *testing.T) {
	t.Parallel()
	open := func(context.Context, locks.Options) (locks.Lock, error) { return capable{}, nil }
	l, err := Open(t.Context(), 2, open, locks.Options{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := l.Abilities(t.Context())
	if want := []locks.Ability{locks.CanInspect, locks.CanQueue, locks.CanRecord, locks.CanAsk}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}
