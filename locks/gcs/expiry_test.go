package gcs

import (
	"net/http"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/clock"
)

// base is when the object of these tests was last changed.
var base = time.Date(2026, 1, 2, 3, 4, 5, 700e6, time.UTC)

// seen is a view of a held lock with a lease of 10 s, whose answer had the given
// age of the object by its Date, and was asked for and heard at moments of our
// boot clock.
func seen(age time.Duration, sent, heard time.Duration) *view {
	return &view{
		exists: true, generation: 1, metageneration: 5, updated: base,
		record: record{State: held, Nonce: "n", TTLms: 10_000},
		date:   base.Add(age), sent: clock.Instant(sent), heard: clock.Instant(heard),
	}
}

// TestDateProvesTheEnd: at the first look, and not before the lease and the
// margin are over.
func TestDateProvesTheEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		age  time.Duration
		left time.Duration
	}{
		{0, 10 * time.Second}, // the watch alone would allow that
		{5 * time.Second, 6 * time.Second},
		{10 * time.Second, time.Second},
		{11 * time.Second, 0},
		{time.Hour, 11*time.Second - time.Hour},
		{-500 * time.Millisecond, 10 * time.Second}, // the same second, rounded down
		{-2 * time.Second, 10 * time.Second},        // before the change: a Date of another clock
	} {
		left, proved := new(observer).left(seen(tt.age, 0, 0))
		if left != tt.left || proved {
			t.Errorf("an answer %v after the change: left %v, proved %v; want %v, false", tt.age, left, proved, tt.left)
		}
	}
}

// TestWatchProvesTheEnd: without any Date, a whole lease from the arrival of one
// answer to the sending of another.
func TestWatchProvesTheEnd(t *testing.T) {
	t.Parallel()
	without := func(sent, heard time.Duration) *view {
		v := seen(0, sent, heard)
		v.date = time.Time{}
		return v
	}
	var o observer
	if left, _ := o.left(without(0, 2*time.Second)); left != 10*time.Second+2*time.Second {
		t.Errorf("at the first look: %v left", left)
	}
	if left, proved := o.left(without(11*time.Second, 13*time.Second)); left != time.Second || proved {
		t.Errorf("asked 9 s after the first answer: %v left, proved %v; want 1s, false", left, proved)
	}
	changed := without(12*time.Second, 13*time.Second)
	changed.metageneration++
	if left, _ := o.left(changed); left < 10*time.Second {
		t.Errorf("after a change: %v left; want a whole lease", left)
	}
	anew := without(22*time.Second, 22*time.Second)
	anew.metageneration++
	anew.generation++
	if left, _ := (&observer{first: changed}).left(anew); left != 10*time.Second {
		t.Errorf("after the object was made anew: %v left; want a whole lease", left)
	}
	changed = without(23*time.Second, 24*time.Second)
	changed.metageneration++
	if left, proved := o.left(changed); left > 0 || !proved {
		t.Errorf("a lease after that: %v left, proved %v; want none, true", left, proved)
	}
}

// TestEarly: the stamps before and after a takeover show that the Date was wrong.
func TestEarly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ gap, want time.Duration }{
		{3 * time.Second, 7500 * time.Millisecond},
		{10500 * time.Millisecond, 0},
		{time.Minute, 10500*time.Millisecond - time.Minute},
	} {
		before, after := seen(0, 0, 0), seen(0, 0, 0)
		after.updated = base.Add(tt.gap)
		if got := early(before, after); got != tt.want {
			t.Errorf("taken over after %v: too early by %v; want %v", tt.gap, got, tt.want)
		}
	}
}

// TestRest: a takeover in doubt waits for the rest of the lease by the stamps,
// counted from when it first saw them, and never longer for seeing them again.
func TestRest(t *testing.T) {
	t.Parallel()
	l, term, start := new(Lock), new(term), now()
	before, after := seen(time.Hour, time.Duration(start), time.Duration(start)), seen(0, time.Duration(start), time.Duration(start))
	l.doubt(before, term)
	if got := term.record.TTLms; got != 10_000 {
		t.Errorf("a takeover in doubt speaks of a lease of %d ms; want 10000", got)
	}
	after.updated = base.Add(-time.Hour) // stamps of which nothing can be said
	if got := l.rest(after); got > 10*time.Second {
		t.Errorf("the rest is %v; want no more than the lease", got)
	}
	after.updated = base.Add(7 * time.Second)
	for _, later := range []time.Duration{0, 5 * time.Second} {
		after.heard = start.Add(later)
		if got := l.rest(after); got > 3500*time.Millisecond {
			t.Errorf("seen again %v later the rest is %v; want 3.5s from the start or less", later, got)
		}
	}
	after.updated = base.Add(11 * time.Second)
	if got := l.rest(after); got != 0 || l.doubted != nil {
		t.Errorf("once the stamps show that it was over, the rest is %v", got)
	}
}

// TestServiceDate: a Date that a cache or a proxy may have written is none.
func TestServiceDate(t *testing.T) {
	t.Parallel()
	const date = "Fri, 02 Jan 2026 03:04:05 GMT"
	for _, tt := range []struct {
		header http.Header
		want   bool
	}{
		{http.Header{"Date": {date}}, true},
		{http.Header{"Date": {date}, "Cache-Control": {"no-store"}}, true},
		{http.Header{}, false},
		{http.Header{"Date": {"yesterday"}}, false},
		{http.Header{"Date": {date, date}}, false},
		{http.Header{"Date": {date}, "Age": {"0"}}, false},
		{http.Header{"Date": {date}, "Via": {"1.1 proxy"}}, false},
		{http.Header{"Date": {date}, "Warning": {`110 - "Response is Stale"`}}, false},
	} {
		if got := serviceDate(tt.header); got.IsZero() == tt.want {
			t.Errorf("%v: got %v", tt.header, got)
		}
	}
}

// TestPoll holds the pauses of those who wait to what the documentation says of
// their reads, and so of their price.
func TestPoll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ left, least, most, mean time.Duration }{
		{time.Minute, time.Second, 3 * time.Second, 2 * time.Second},
		{3*time.Second - 1, 500 * time.Millisecond, 1500 * time.Millisecond, time.Second},
		{100 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond, 250 * time.Millisecond},
	} {
		const n = 10_000
		var sum time.Duration
		for range n {
			d := poll(tt.left)
			if d < tt.least || d > tt.most {
				t.Fatalf("with %v left, a pause of %v; want from %v to %v", tt.left, d, tt.least, tt.most)
			}
			sum += d
		}
		if mean := sum / n; mean < tt.mean*19/20 || mean > tt.mean*21/20 {
			t.Errorf("with %v left, the mean pause is %v; want %v", tt.left, mean, tt.mean)
		}
	}
}
