//go:build unix

package helper

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// held returns a lock that was granted, and the log of its backend.
func held(t *testing.T, query string) (l *Lock, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "log")
	l = start(t, "fake://h"+log+"?"+query+"&term=t1", options())
	_, err := l.Acquire(t.Context(), true)
	checkClass(t, "acquire", err, nil)
	return l, log
}

// killed kills the helper, and returns what it was once it is gone.
func killed(t *testing.T, l *Lock) *instance {
	t.Helper()
	in := l.last()
	in.process.kill()
	eventually(t, "the helper is gone", func() bool { return isClosed(in.gone) })
	return in
}

// TestAdopt kills a helper: another goes on with what it kept, and can be told the last
// words by whoever had the input of the first.
func TestAdopt(t *testing.T) {
	t.Parallel()
	l, log := held(t, "")
	input, words := l.ReleaseMessage()
	first := killed(t, l)
	checkClass(t, "renew", l.Renew(t.Context()), nil)
	checkAsked(t, log, "open\ntry=true\nacquire\nopen\nt1\nadopt\nrenew\n")
	if pid := l.last().process.child.pid; !l.Keeps(pid) || l.Keeps(first.process.child.pid) {
		t.Error("it is not known which process keeps the lock")
	}
	if _, err := input.Write(words); err != nil {
		t.Errorf("the last words: %v", err)
	}
	eventually(t, "the lock is released", func() bool { return strings.HasSuffix(read(t, log), "release\n") })
}

// TestReuse: what was meant for one helper is not read by the next.
func TestReuse(t *testing.T) {
	t.Parallel()
	p, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for _, text := range []string{strings.Repeat("x", 5000), "yes\n"} {
		p = p.reuse()
		if _, err := p.w.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 10)
	if n, err := p.r.Read(got); string(got[:n]) != "yes\n" || err != nil {
		t.Errorf("the next one reads %q, %v", got[:n], err)
	}
}

// TestAdoptedUnasked: nobody waits for the next renewal to hear of the lock.
func TestAdoptedUnasked(t *testing.T) {
	t.Parallel()
	l, _ := held(t, "adopted=lost")
	killed(t, l)
	checkClass(t, "lost", receive(t, l.Lost()), locks.ErrLost)
}

// TestReleasedByAnother: it is never too late to release.
func TestReleasedByAnother(t *testing.T) {
	t.Parallel()
	l, log := held(t, "")
	killed(t, l)
	checkClass(t, "release", l.Release(t.Context()), nil)
	checkClass(t, "release again", l.Release(t.Context()), nil)
	checkAsked(t, log, "open\ntry=true\nacquire\nopen\nt1\nadopt\nrelease\n")
}

// TestNotAdopted: what cannot be gone on with fails as it would without another helper,
// and one that cannot begin is not started over and over.
func TestNotAdopted(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]error{
		"adopt=panic": locks.ErrUnavailable,
		"adopt=usage": locks.ErrUsage,
		"ttl=0s":      locks.ErrUnavailable, // it was lost with its helper
		"term=":       locks.ErrUnavailable,
	} {
		t.Run(fmt.Sprintf("%.12s", query), func(t *testing.T) {
			t.Parallel()
			l, _ := held(t, query)
			for i := range 3 {
				dead := killed(t, l)
				if dead.process.is(dead.process.child.pid) {
					t.Error("a helper that is gone is known by its process id, which may be the job's by now")
				}
				if i > 0 && l.last() != dead {
					t.Error("a helper that has done nothing is followed by another unasked")
				}
				checkClass(t, "renew", l.Renew(t.Context()), want)
			}
		})
	}
}
