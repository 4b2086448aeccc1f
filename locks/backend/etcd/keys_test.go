package etcd

import (
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

var longNames = []string{strings.Repeat("a/", locks.MaxName/2-1) + "a", locks.SlotName(strings.Repeat("a/", locks.MaxName/2-1)+"aa", locks.MaxSlot)}

// TestOwner checks that owner recognises the keys of each lock, and no others.
func TestOwner(t *testing.T) {
	t.Parallel()
	l := &lock{prefix: "/p/"}
	for _, name := range append(longNames, "jobs", "jobs/nightly", "jobs#3", "a:b@c-d_e.f", "record", "2Frecord") {
		for _, what := range []string{queueSuffix, recordSuffix, askSuffix} {
			key := l.keyOf(name, what)
			suffix := ""
			if what == queueSuffix {
				suffix = "0123/%record"
			}
			if got, kind := l.owner(key + suffix); got != name || kind != what {
				t.Errorf("%q belongs to %q as %q; want %q, %q", key+suffix, got, kind, name, what)
			}
		}
	}
	for _, key := range []string{
		"", "/", "/p", "/p/", "/q/jobs/1", "/p//1", "/p/jobs", "/p/jobs%other", "/p/%record", "/p/a b/1", "/p/a%20b/1", "/p/%2fa/1",
		"/p/a%2fb%record", "/p/a%2F..%record", "/p/a%2/1", "/p/jobs%23065/1", "/p/jobs%2365/1", "/p/\xff/1", "/p/" + strings.Repeat("a", locks.MaxName+1) + "/1",
	} {
		if name, what := l.owner(key); name != "" {
			t.Errorf("%q belongs to %q as %q; want no lock", key, name, what)
		}
	}
}

// TestAfter checks that after skips no key of another name, whatever the key is, and that
// its result is short.
func TestAfter(t *testing.T) {
	t.Parallel()
	l := &lock{prefix: "/p/"}
	keys := []string{"/p/", "/p//", "/p/" + strings.Repeat("\xff", 5000), "/p/" + strings.Repeat("x", 5000) + "/1", "/p/x", "/p/%record"}
	for _, name := range append(longNames, "jobs", "jobs-1", "jobs.1", "jobs/1", "jobs#1", "a") {
		keys = append(keys, l.keyOf(name, queueSuffix)+"1", l.keyOf(name, queueSuffix)+"\xff", l.keyOf(name, recordSuffix))
	}
	for _, key := range keys {
		next := l.after(key)
		p := page{lock: l, from: next, end: endOf(l.prefix)}
		if next <= key || next > p.end || len(p.cursor()) > locks.MaxCursor {
			t.Errorf("after %.40q comes %.40q, with a cursor of %d bytes", key, next, len(p.cursor()))
		}
		name, what := l.owner(key)
		for _, other := range keys {
			if n, w := l.owner(other); n != "" && (n != name || w != what) && key < other && other < next {
				t.Errorf("after %.40q comes %.40q, which skips %.40q", key, next, other)
			}
		}
	}
}
