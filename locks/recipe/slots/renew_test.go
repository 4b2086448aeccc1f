package slots

import (
	"context"
	"errors"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// A part is a lock of which only the result of Renew matters.
type part struct {
	locks.Lock
	err error
}

func (p *part) Renew(context.Context) error { return p.err }

// TestRenewAll: a renewal of what we wait with succeeds only if each part was renewed. While the
// Acquire of a slot is under way, its lease may have begun before the renewal without our
// knowing. If that part counted as renewed, we would trust its lease for too long.
func TestRenewAll(t *testing.T) {
	t.Parallel()
	down, lost := errors.New("down"), locks.LostError("gone")
	for _, test := range []struct {
		name  string
		parts []error
		want  error
	}{
		{"nothing", nil, locks.ErrNoLease},
		{"the turnstile", []error{nil}, nil},
		{"a slot on its way", []error{nil, locks.ErrNoLease}, locks.ErrNoLease},
		{"places", []error{nil, nil, nil}, nil},
		{"one fails", []error{nil, down, locks.ErrNoLease}, down},
		{"one is lost", []error{locks.ErrNoLease, down, lost}, lost},
	} {
		for range 20 { // the parts are in a random order
			l := &Lock{renewable: map[locks.Lock]bool{}}
			for _, err := range test.parts {
				l.renewable[&part{err: err}] = true
			}
			if err := l.Renew(t.Context()); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("%s: got %v, want %v", test.name, err, test.want)
			}
		}
	}
}

// TestRenewBesideClose: a renewal during which the handle was closed says so.
func TestRenewBesideClose(t *testing.T) {
	t.Parallel()
	p := new(part)
	if err := (&Lock{closed: true}).combine([]locks.Lock{p}, []error{nil}); !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
}
