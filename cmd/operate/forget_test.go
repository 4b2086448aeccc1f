package operate

import (
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// A fakeStore is a backend whose locks can be forgotten.
type fakeStore struct {
	locks.Lock
	all       []locks.Listed
	fails     map[string]error // by the name of a lock
	last      string           // when this lock fails, so does everything afterwards
	down      error
	forgotten []string // in this order
}

// A fakeLock is a handle on one of its locks.
type fakeLock struct {
	*fakeStore
	name string
}

func (d *fakeLock) Abilities(context.Context) ([]locks.Ability, error) {
	return []locks.Ability{locks.CanList, locks.CanForget}, nil
}

func (d *fakeLock) List(context.Context, string) ([]locks.Listed, string, error) {
	return d.all, "", d.down
}

func (d *fakeLock) Forget(context.Context) error {
	if err := d.fails[d.name]; err != nil {
		if d.name == d.last {
			d.down = err
		}
		return err
	}
	d.forgotten = append(d.forgotten, d.name)
	return nil
}

func (d *fakeLock) Close() error { return nil }

// forgets forgets locks, and returns the exit status and what is printed, without the
// prefix of errors.
func (d *fakeStore) forgets(t *testing.T, names ...string) (out, complaints string, status int) {
	t.Helper()
	var said, failed strings.Builder
	e := &env.Env{Registry: new(locks.Registry), Out: &said, Console: output.NewConsole(&failed)}
	e.Registry.Register("fake", func(_ context.Context, _ *url.URL, o locks.Options) (locks.Lock, error) {
		return &fakeLock{d, o.Name}, nil
	})
	p := &operator{e, options.NewValues()}
	p.opt.Backend = "fake:"
	status = e.Console.Report(p.forget(names, true))
	return said.String(), strings.ReplaceAll(failed.String(), "leaderrun: error: ", ""), status
}

// TestForgetSlots: slots are forgotten from the last to the first, and then their
// turnstile, whose record says who holds which. If one cannot be forgotten, the rest stays.
func TestForgetSlots(t *testing.T) {
	t.Parallel()
	d := &fakeStore{all: []locks.Listed{{Name: "a#2"}, {Name: "a#0"}, {Name: "a#10"}, {Name: "b#1"}, {Name: "a#1"}, {Name: "a/b"}}}
	out, complaints, status := d.forgets(t, "a")
	if want := []string{"a#10", "a#2", "a#1", "a#0", "a"}; !slices.Equal(d.forgotten, want) || status != 0 || complaints != "" {
		t.Errorf("forgot %q, said %q, %q, %d; want %q", d.forgotten, out, complaints, status, want)
	}
	d.forgotten, d.fails = nil, map[string]error{"a#1": &locks.HeldError{Status: locks.Status{Holder: "x"}}}
	out, complaints, status = d.forgets(t, "a", "b")
	if want := []string{"a#10", "a#2", "b#1", "b"}; !slices.Equal(d.forgotten, want) {
		t.Errorf("forgot %q, want %q", d.forgotten, want)
	}
	if out != "lock \"b\" is forgotten\n" || complaints != "lock \"a\" was not forgotten: slot 1: held by x\n" || status != output.ExitHeld {
		t.Errorf("said %q, %q, %d", out, complaints, status)
	}
}

// TestForgetHeldSlot: nothing is forgotten of a lock that has a holder. If the lease has
// ended according to the list, we try to forget all of it.
func TestForgetHeldSlot(t *testing.T) {
	t.Parallel()
	over := locks.Status{Held: true, Holder: "y", Left: -1}
	d := &fakeStore{all: []locks.Listed{{Name: "a#0", Status: over}, {Name: "a#1", Status: over}, {Name: "b"}, {Name: "b#0"}, {Name: "b#1"}, {Name: "b#2", Status: locks.Status{Held: true, Holder: "x"}}}}
	_, complaints, status := d.forgets(t, "a", "b", "b#1")
	if want := []string{"a#1", "a#0", "a", "b#1"}; !slices.Equal(d.forgotten, want) {
		t.Errorf("forgot %q, want %q", d.forgotten, want)
	}
	if complaints != "lock \"b\" was not forgotten: slot 2: held by x\n" || status != output.ExitHeld {
		t.Errorf("said %q, %d", complaints, status)
	}
}

// TestForgetGoesOn: an error about one lock does not stop the others, but a backend that
// does not respond does. The exit status is that of the first error.
func TestForgetGoesOn(t *testing.T) {
	t.Parallel()
	away := func(name string) error {
		return &locks.Error{Op: "forget", Backend: "fake", Name: name, Class: locks.ErrUnavailable, Err: io.ErrUnexpectedEOF}
	}
	d := &fakeStore{last: "d", fails: map[string]error{
		"a":  &locks.Error{Op: "forget", Backend: "fake", Name: "a", Class: locks.ErrDenied, Err: errors.New("no")},
		"c":  &locks.HeldError{},
		"aa": away("aa"), "d": away("d"),
	}}
	out, complaints, status := d.forgets(t, "e", "aa", "b", "a", "b", "f", "d", "c")
	if out != "there is no record of lock \"b\"\n" || !slices.Equal(d.forgotten, []string{"b"}) {
		t.Errorf("forgot %q, said %q", d.forgotten, out)
	}
	const want = "forget \"a\" on fake: no\nforget \"aa\" on fake: unexpected EOF\nlock \"c\" was not forgotten: held by someone else\nforget \"d\" on fake: unexpected EOF; 2 more were not tried\n"
	if complaints != want || status != output.ExitDenied {
		t.Errorf("got %d, %q; want %q", status, complaints, want)
	}
}

// TestForgetTokens: only the tokens of our own backends are known to rise.
func TestForgetTokens(t *testing.T) {
	t.Parallel()
	for backend, want := range map[string]bool{"file": true, "etcd://h/p": true, "gcs:": true, "zk://h?mode=unfair": true, "toy:": false, "://": false} {
		v := &options.Values{Backend: backend}
		if got := (&forgetting{visit: &visit{operator: &operator{opt: v}}}).tokensRise(); got != want {
			t.Errorf("%s: got %v", backend, got)
		}
	}
}
