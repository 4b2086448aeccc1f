package caslease

import (
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// TestStatusOfLessee: who has the store's lease holds the lock, whatever the state says.
func TestStatusOfLessee(t *testing.T) {
	t.Parallel()
	v := seenAt(0, 0, 0)
	v.Floor, v.Lessee = 7, "someone with another program"
	if got, want := v.status(), (locks.Status{Held: true, Holder: v.Lessee, Token: 7}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestStatusOfUnreadable: a state that makes no sense names no holder.
func TestStatusOfUnreadable(t *testing.T) {
	t.Parallel()
	v := seenAt(0, 0, 0)
	v.unreadable = errors.New("has a state that leaderrun did not write")
	if got := v.status(); got != (locks.Status{}) {
		t.Errorf("got %+v", got)
	}
}

// TestPresentAtTheEnd: a lease that ends at this moment has a time left, because 0 would mean
// that it is unknown.
func TestPresentAtTheEnd(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]time.Duration{10*time.Second - 1: 1, 10 * time.Second: -1, 10*time.Second + 2: -2} {
		if got := seenAt(age, 0, 0).present().Left; got != want {
			t.Errorf("after %v: %v left, want %v", age, got, want)
		}
	}
}
