package helper

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A called is a method of Lock, with its name on the wire.
type called struct {
	name string
	can  locks.Ability // that the method needs; "" if none
	call func(context.Context) error
}

// calls returns every method that is called after open, in an order in which they
// succeed. Texts are as long as they may be.
func calls(l *Lock, try bool) []called {
	text, cursor := []byte(strings.Repeat("\x01", locks.MaxRecord)), strings.Repeat("\x01", locks.MaxCursor)
	return []called{
		{"acquire", "", func(ctx context.Context) error { _, err := l.Acquire(ctx, try); return err }},
		{"inspect", "inspect", func(ctx context.Context) error { _, err := l.Inspect(ctx); return err }},
		{"record", "record", func(ctx context.Context) error { _, err := l.Record(ctx); return err }},
		{"set_record", "record", func(ctx context.Context) error { return l.SetRecord(ctx, text) }},
		{"ask", "ask", func(ctx context.Context) error { return l.Ask(ctx, 1, text) }},
		{"list", "list", func(ctx context.Context) error { _, _, err := l.List(ctx, cursor); return err }},
		{"watch", "watch", func(ctx context.Context) error { _, err := l.Watch(ctx, true); return err }},
		{"break", "break", func(ctx context.Context) error { return l.Break(ctx, 1) }},
		{"probe", "probe", func(ctx context.Context) error { _, err := l.Probe(ctx); return err }},
		{"forget", "forget", func(ctx context.Context) error { return l.Forget(ctx) }},
		{"renew", "", func(ctx context.Context) error { return l.Renew(ctx) }},
		{"release", "", func(ctx context.Context) error { return l.Release(ctx) }},
	}
}

// ofAbilities returns the calls that need an ability.
func ofAbilities(l *Lock) []called {
	return slices.DeleteFunc(calls(l, true), func(c called) bool { return c.can == "" })
}

// TestCalls checks that every method in the table can be called, and that these tests
// call it.
func TestCalls(t *testing.T) {
	t.Parallel()
	names := []string{methodOpen}
	for _, c := range calls(start(t, able("fake://h/"), options()), true) {
		names = append(names, c.name)
		checkClass(t, c.name, c.call(t.Context()), nil)
	}
	for _, m := range methods() {
		if !slices.Contains(names, m.name) {
			t.Errorf("no test calls %s", m.name)
		}
	}
}

// TestAfterRelease: the helper has ended. Writing returns ErrLost; asking is an error but
// not a loss.
func TestAfterRelease(t *testing.T) {
	t.Parallel()
	l := hold(t, able("fake://h/"), options())
	changed, err := l.Watch(t.Context(), false)
	checkClass(t, "watch", err, nil)
	checkClass(t, "release", l.Release(t.Context()), nil)
	over(t, changed)
	for _, c := range ofAbilities(l) {
		want := locks.ErrUnavailable
		if c.name == methodSetRecord {
			want = locks.ErrLost
		}
		err := c.call(t.Context())
		checkClass(t, c.name, err, want)
		if err == nil || !strings.Contains(err.Error(), "the lock was released") {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

// TestWithoutAbilities checks that a helper is not asked for abilities that it has not
// declared.
func TestWithoutAbilities(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/notes"
	l := start(t, "fake://h"+path+"?can=inspect", options())
	for _, c := range ofAbilities(l) {
		if c.name != methodInspect {
			checkClass(t, c.name, c.call(t.Context()), locks.ErrUsage)
		}
	}
	checkAsked(t, path, "open\n")
}

// TestBareBackend checks that a declared ability without methods is not offered, and that
// a request for it is an error.
func TestBareBackend(t *testing.T) {
	t.Parallel()
	bare := func(ctx context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
		l, err := openFake(ctx, u, o)
		return struct {
			locks.Lock
			locks.Able
		}{l, l.(locks.Able)}, err
	}
	script := `< {"event":"hello","protocol":[1],"scheme":"fake","version":"v1"}
> ` + strings.Replace(openLine, "fake:", able("fake:///"), 1) + `
< {"id":1,"result":{}}
`
	for _, c := range ofAbilities(nil) {
		script += `> {"id":2,"method":"` + c.name + `"}
< {"id":2,"error":{"class":"usage","message":"this backend cannot ` + string(c.can) + `"}}
`
	}
	if logged, err := converse(t, bare, script); err != nil || logged != "" {
		t.Errorf("got %v, and in the log %q", err, logged)
	}
}

// TestOneLongRequestAtATime checks that only one request that may be long is in the pipe,
// however many were given up, and that a renewal can pass it.
func TestOneLongRequestAtATime(t *testing.T) {
	t.Parallel()
	for _, name := range []string{methodSetRecord, methodAsk, methodList} {
		l := hold(t, able("fake://h/?"+name+"=hang"), options())
		i := slices.IndexFunc(calls(l, true), func(c called) bool { return c.name == name })
		for range 2 * maxPending {
			checkClass(t, name, calls(l, true)[i].call(within(t, 10*time.Millisecond)), context.DeadlineExceeded)
		}
		checkPending(t, l, 1)
		checkClass(t, "renew", l.Renew(t.Context()), nil)
	}
}

// able returns the URL with all abilities.
func able(u string) string {
	sep := "&"
	if !strings.Contains(u, "?") {
		sep = "?"
	}
	all := []string{"inspect", "queue", "record", "ask", "list", "watch", "break", "probe", "forget", ""}
	return u + sep + url.Values{"can": all}.Encode()
}
