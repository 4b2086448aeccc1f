package caslease

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// base is when the cell of these tests was last changed.
var base = time.Date(2026, 1, 2, 3, 4, 5, 700e6, time.UTC)

// seenAt returns a view of a held lock with a lease of 10 s. By its Date, the answer showed a
// cell of the given age. The moments of the request and the answer are by our boot clock.
func seenAt(age time.Duration, sent, received time.Duration) *view {
	return &view{
		Cell:  Cell{Version: "5", Updated: base, Date: base.Add(age)},
		state: state{Is: held, Nonce: "n", TTLms: 10_000},
		sent:  clock.Instant(sent), received: clock.Instant(received),
	}
}

// stamped returns the traits of a store whose Expiry is ByStamps.
func stamped() *Traits { return &Traits{Expiry: ByStamps, Margin: time.Second, Poll: 2 * time.Second} }

// TestDateProvesTheEnd: a Date proves the end of a lease at the first look, but not before the
// lease and the margin are over.
func TestDateProvesTheEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		age  time.Duration
		left time.Duration
	}{
		{0, 10 * time.Second}, // watching alone says the same
		{5 * time.Second, 6250 * time.Millisecond},
		{10 * time.Second, 1250 * time.Millisecond},
		{11250 * time.Millisecond, 0},
		{time.Hour, 11250*time.Millisecond - time.Hour},
		{-500 * time.Millisecond, 10 * time.Second}, // the same second, rounded down
		{-2 * time.Second, 10 * time.Second},        // before the change: a Date of another clock
	} {
		o := observer{traits: stamped()}
		left, by := o.left(seenAt(tt.age, 0, 0))
		if left != tt.left || left < 10*time.Second && by != ByStamps {
			t.Errorf("an answer %v after the change: left %v, by %v; want %v", tt.age, left, by, tt.left)
		}
	}
	o, v := observer{traits: stamped()}, seenAt(0, 0, 0)
	if v.Updated = (time.Time{}); v.present().Left != 0 {
		t.Errorf("without a stamp, %v are left for people", v.present().Left)
	}
	if left, by := o.left(v); left != 10*time.Second || by != ByWatching {
		t.Errorf("without a stamp: left %v, by %v; want a whole lease, by watching", left, by)
	}
}

// TestMargin: the margin has room for a clock that is slewed, for leases of any length.
func TestMargin(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]time.Duration{2 * time.Second: 3 * time.Second, 8 * time.Second: 9 * time.Second, time.Minute: 67500 * time.Millisecond} {
		if got := stamped().minAge(&view{state: state{TTLms: ttl.Milliseconds()}}); got != want {
			t.Errorf("a lease of %v is over after %v by the store's clock; want %v", ttl, got, want)
		}
	}
}

// TestClockIsConfirmed: the store's clock is believed only after the cell has not changed for
// as long as a healthy holder may be silent: 8/15 of a short lease.
func TestClockIsConfirmed(t *testing.T) {
	t.Parallel()
	silence := keepalive.Silence(10 * time.Second)
	for _, tt := range []struct {
		disciplined  bool
		age, watched time.Duration
		left         time.Duration
	}{
		{false, time.Hour, 0, silence},
		{false, time.Hour, 2 * time.Second, silence - 2*time.Second},
		{false, time.Hour, silence, 0},
		{false, 11 * time.Second, silence, 250 * time.Millisecond},
		{true, time.Hour, 0, 11250*time.Millisecond - time.Hour},
	} {
		o := observer{traits: &Traits{Expiry: ByClock, Margin: time.Second, Disciplined: tt.disciplined}}
		o.left(seenAt(time.Hour, 0, 0))
		left, by := o.left(seenAt(tt.age, tt.watched, tt.watched))
		if left != tt.left || by != ByClock {
			t.Errorf("%+v: left %v, by %v", tt, left, by)
		}
		if s := o.present(seenAt(tt.age, tt.watched, tt.watched)); s.Left >= 0 || s.Confirm != max(tt.left, 0) {
			t.Errorf("%+v: for people, %v left, to be confirmed for %v", tt, s.Left, s.Confirm)
		}
		other := seenAt(tt.age, tt.watched, tt.watched)
		other.Version = "6"
		if left, _ := o.left(other); !tt.disciplined && left < silence {
			t.Errorf("%+v: after a renewal left %v", tt, left)
		}
	}
}

// TestWatchProvesTheEnd: if there is no Date, or it proves nothing, the proof is a whole lease
// between the arrival of one answer and the sending of another request.
func TestWatchProvesTheEnd(t *testing.T) {
	t.Parallel()
	for _, traits := range []*Traits{stamped(), {Expiry: ByWatching}} {
		version := "5"
		look := func(sent, received time.Duration) *view {
			v := seenAt(time.Hour, sent, received)
			if v.Version = version; traits.Expiry == ByStamps {
				v.Date = time.Time{}
			}
			return v
		}
		o := observer{traits: traits}
		if left, _ := o.left(look(0, 2*time.Second)); left != 10*time.Second+2*time.Second {
			t.Errorf("at the first look: %v left", left)
		}
		if left, _ := o.left(look(11*time.Second, 13*time.Second)); left != time.Second {
			t.Errorf("asked 9 s after the first answer: %v left; want 1s", left)
		}
		version = "6"
		if left, _ := o.left(look(12*time.Second, 13*time.Second)); left < 10*time.Second {
			t.Errorf("after a change: %v left; want a whole lease", left)
		}
		if left, by := o.left(look(23*time.Second, 24*time.Second)); left > 0 || by != ByWatching {
			t.Errorf("a lease after that: %v left, by %v; want none, by watching", left, by)
		}
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
		before, after := seenAt(0, 0, 0), seenAt(0, 0, 0)
		after.Updated = base.Add(tt.gap)
		if got := stamped().early(before, after); got != tt.want {
			t.Errorf("taken over after %v: too early by %v; want %v", tt.gap, got, tt.want)
		}
	}
}

// TestDoubtLeft: a takeover in doubt waits for the rest of the lease by the stamps, counted from
// the first answer that showed them. Another answer with the same stamps does not prolong that.
func TestDoubtLeft(t *testing.T) {
	t.Parallel()
	l, term, d := New(nil, *stamped(), locks.Options{}), new(term), new(doubt)
	start := l.now()
	before, after := seenAt(time.Hour, time.Duration(start), time.Duration(start)), seenAt(0, time.Duration(start), time.Duration(start))
	d.begin(before, term)
	if got := term.state.TTLms; got != 10_000 {
		t.Errorf("the state of a takeover in doubt has a lease of %d ms; want 10000", got)
	}
	after.Updated = base.Add(-time.Hour) // stamps that make no sense
	if got := d.left(after, l.traits); got > 10*time.Second {
		t.Errorf("%v left; want no more than the lease", got)
	}
	after.Updated = base.Add(7 * time.Second)
	for _, later := range []time.Duration{0, 5 * time.Second} {
		after.received = start.Add(later)
		if got := d.left(after, l.traits); got > 3500*time.Millisecond {
			t.Errorf("seen again %v later: %v left; want 3.5s from the start or less", later, got)
		}
	}
	after.Updated = base.Add(11 * time.Second)
	if got := d.left(after, l.traits); got != 0 || d.before != nil {
		t.Errorf("after the stamps have shown that the lease was over: %v left", got)
	}
}

// TestPace: the pauses of a waiter grow, but not so far that it notices the last renewal of a
// holder too late.
func TestPace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ longest, ttl, after, want time.Duration }{
		{5 * time.Second, time.Minute, 0, time.Second},
		{5 * time.Second, time.Minute, time.Second, 1200 * time.Millisecond},
		{5 * time.Second, time.Minute, 5 * time.Second, 2074 * time.Millisecond},
		{5 * time.Second, time.Minute, time.Minute, 3333 * time.Millisecond},
		{5 * time.Second, 15 * time.Second, time.Hour, 4667 * time.Millisecond},
		{5 * time.Second, 2 * time.Second, time.Hour, time.Second},
		{5 * time.Second, 10 * time.Minute, 9 * time.Minute, 3333 * time.Millisecond},
		{5 * time.Second, 10 * time.Minute, time.Hour, 20 * time.Second},
		{0, time.Minute, time.Hour, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			traits, start := &Traits{Poll: time.Second, LongestPoll: tt.longest, Clock: clock.Bubble{}}, time.Now()
			var p pace
			mean, slow := p.next(traits, tt.ttl)
			for time.Since(start) < tt.after {
				time.Sleep(mean)
				mean, slow = p.next(traits, tt.ttl)
			}
			if mean.Round(time.Millisecond) != tt.want || slow != (mean > 3*time.Second) {
				t.Errorf("%+v: got %v, %v", tt, mean, slow)
			}
		})
	}
}

// TestPoll: waiters pause as the documentation says, which determines the price of their
// reads.
func TestPoll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		left, least, most, mean time.Duration
		watching                bool
	}{
		{time.Minute, time.Second, 3 * time.Second, 2 * time.Second, false},
		{3*time.Second - 1, 500 * time.Millisecond, 1500 * time.Millisecond, time.Second, false},
		{100 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond, 250 * time.Millisecond, false},
		{time.Minute, 5 * time.Second, 15 * time.Second, 10 * time.Second, true},
	} {
		const n = 10_000
		var sum time.Duration
		for range n {
			d := stamped().poll(tt.left, stamped().Poll, tt.watching)
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
