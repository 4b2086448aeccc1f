package output

import (
	"bytes"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
)

// TestTraceRenewals: the least time that was left of a lease is kept through failures, until
// the next term.
func TestTraceRenewals(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := testConsole(&b)
	trace := Tracer{Log: c.Start(Settings{Verbose: 2})}
	acquired := func() {
		left := int64(15000)
		trace.Event(event.Event{Kind: event.Acquired, LeftMS: &left})
	}
	now := clock.Boot{}.Now()
	renewed := func(left time.Duration, err error) {
		trace.Renewed(keepalive.Renewal{Sent: now.Add(-5 * time.Millisecond), Done: now, Left: left, Deadline: now.Add(14 * time.Second), Err: err})
	}
	acquired()
	renewed(12*time.Second, nil)
	renewed(4*time.Second, errors.New("refused"))
	renewed(12*time.Second, nil)
	acquired()
	renewed(11*time.Second, nil)
	c.Flush()
	got := regexp.MustCompile(`(sent|deadline)=[0-9:.]+ `).ReplaceAllString(b.String(), "")
	want := `leaderrun: renewed took=5ms left=14s lowest=12s
leaderrun: not renewed took=5ms left=14s lowest=4s: refused
leaderrun: renewed took=5ms left=14s lowest=4s
leaderrun: renewed took=5ms left=14s lowest=11s
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNoTrace: with less than -vv no renewal is printed.
func TestNoTrace(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := testConsole(&b)
	trace := Tracer{Log: c.Start(Settings{Verbose: 1})}
	trace.Renewed(keepalive.Renewal{})
	c.Flush()
	if b.Len() > 0 {
		t.Errorf("got %q", &b)
	}
}
