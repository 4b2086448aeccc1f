package storetest

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// Conformance returns what package lockstest needs to know about every lock that
// [caslease.New] makes. The caller adds Open, URL, TTL, and the ways to harm the server that
// do not go through a [caslease.Store]. Only the abilities of like matter. Direct makes a
// store with the same prefix as an address of URL, over a connection that Cut does not cut.
func Conformance(like caslease.Store, t caslease.Traits, direct func(tb testing.TB, u *url.URL) caslease.Store) lockstest.Config {
	can, _ := caslease.New(like, t, locks.Options{}).Abilities(context.Background()) // no request is made
	o := operator(direct)
	c := lockstest.Config{
		Abilities: can, ReportsStart: true, Adopts: true, Recipe: true,
		ReportsLeft: t.Expiry == caslease.ByStamps || t.Expiry == caslease.ByClock,
		Observed:    t.Expiry == caslease.ByWatching || t.Expiry == caslease.ByClock && !t.Disciplined,
		Polling:     cmp.Or(t.Poll, 2*time.Second) * 3 / 2, Unwatched: true, AskDelay: time.Second,
		Evict:   o.evict,
		Hostile: o.overwrite(caslease.Lease), HostileAsks: o.overwrite(caslease.Request),
	}
	if _, ok := like.(caslease.Watcher); ok {
		c.Polling, c.Unwatched, c.AskDelay = 0, false, 0
		c.Anyway = 15 * time.Second // half as much more than the mean
	}
	return c
}

// Held reports whether the cell of a lease keeps others from taking the lock, judging by the
// time of its last change. It is for Config.Leftovers of package lockstest.
func Held(c caslease.Cell) bool {
	var r struct {
		State string
		TTLms int64 `json:"ttl_ms"`
	}
	_ = json.Unmarshal([]byte(c.State), &r) // a state that makes no sense is held forever
	ends := c.Updated.Add(time.Duration(r.TTLms) * time.Millisecond)
	return r.State != "free" && (r.TTLms <= 0 || time.Now().Before(ends))
}

// States returns states that no leaderrun would write. A store keeps them like any others.
func States() []string {
	return []string{
		"null", "[]", "{}", `{"state":1,"ttl_ms":"x","nonce":{}}`, `{"token":-1,"nonce":{}}`,
		`{"state":"held","nonce":"\u001b[2J","ttl_ms":0}`,
		`{"state":"held","nonce":"n","ttl_ms":1000000000000,"holder":"\n"}`,
		`{"state":"held","nonce":"n","ttl_ms":2000,"token":18446744073709551615}`,
		`{"state":"held","nonce":"n","ttl_ms":2000,"holder":"\u001b[2J","host":"\n","pid":-1,"since":"9999-12-31T23:59:59Z"}`,
		strings.Repeat("[", caslease.MaxState/2) + strings.Repeat("]", caslease.MaxState/2),
	}
}

// An operator changes cells as somebody without leaderrun could.
type operator func(tb testing.TB, u *url.URL) caslease.Store

func (o operator) evict(tb testing.TB, u *url.URL, name string) {
	o.change(tb, u, caslease.Key{Name: name}, func(ctx context.Context, s caslease.Store, k caslease.Key, at caslease.Cell) error {
		return s.Delete(ctx, k, at)
	})
}

func (o operator) overwrite(p caslease.Part) (all []func(testing.TB, *url.URL, string)) {
	for _, state := range States() {
		all = append(all, func(tb testing.TB, u *url.URL, name string) {
			o.change(tb, u, caslease.Key{Name: name, Part: p}, func(ctx context.Context, s caslease.Store, k caslease.Key, at caslease.Cell) error {
				_, err := s.Swap(ctx, k, at, caslease.Value{State: state})
				return err
			})
		})
	}
	return all
}

// change changes a cell, whatever others do to it meanwhile.
func (o operator) change(tb testing.TB, u *url.URL, k caslease.Key, once func(context.Context, caslease.Store, caslease.Key, caslease.Cell) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s := o(tb, u)
	defer s.Close()
	for {
		at, err := s.Read(ctx, k)
		if err == nil {
			err = once(ctx, s, k, at)
		}
		if err == nil {
			return
		}
		if s.Fault(err).Kind != causes.Changed {
			tb.Fatalf("change %v: %v", k, err)
		}
	}
}
