package helper

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

func TestToy(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	contender := func(holder string) locks.Lock {
		l, err := (&Programs{Libexec: here}).Open(t.Context(), &url.URL{Scheme: "toy", Path: dir},
			locks.Options{Name: "jobs/nightly", Holder: holder, TTL: 15 * time.Second, ConnectTimeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		return l
	}
	const odd = `an "odd" \n one, "ttl_ns":`
	a, b := contender(odd), contender("b")
	if err := locks.Require(t.Context(), a, "status", locks.CanInspect); !errors.Is(err, locks.ErrUsage) {
		t.Errorf("a helper that knows of no abilities: %v", err)
	}
	if _, err := a.(*Lock).Inspect(t.Context()); !errors.Is(err, locks.ErrUsage) {
		t.Errorf("inspect with a helper that cannot: %v", err)
	}

	first, err := a.Acquire(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := first, (locks.Grant{Token: 1, TTL: 15 * time.Second}); got != want {
		t.Errorf("first grant: got %+v, want %+v", got, want)
	}
	var held *locks.HeldError
	for _, try := range []bool{true, false} {
		if _, err := b.Acquire(t.Context(), try); !errors.As(err, &held) {
			t.Fatalf("acquire of a held lock, try %v: %v", try, err)
		}
	}
	if got, want := held.Status.Holder, odd; got != want {
		t.Errorf("holder: got %q, want %q", got, want)
	}
	if err := a.Renew(t.Context()); err != nil {
		t.Errorf("renew: %v", err)
	}
	if err := b.Renew(t.Context()); !errors.Is(err, locks.ErrLost) {
		t.Errorf("renew of a lock that is not ours: %v", err)
	}
	if err := b.Release(t.Context()); err != nil {
		t.Errorf("release of a lock that is not ours: %v", err)
	}
	if err := a.Renew(t.Context()); err != nil {
		t.Errorf("renew after a release by another holder: %v", err)
	}
	for range 2 {
		if err := a.Release(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	second, err := b.Acquire(t.Context(), false)
	if err != nil || second.Token != 2 {
		t.Fatalf("acquire after a release: %+v, %v", second, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "jobs%nightly.lock")); err != nil {
		t.Fatal(err)
	}
	if err := b.Renew(t.Context()); !errors.Is(err, locks.ErrLost) {
		t.Errorf("renew after an eviction: %v", err)
	}
}
