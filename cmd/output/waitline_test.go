package output

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
)

func TestWaitLineText(t *testing.T) {
	t.Parallel()
	since := time.Date(2006, 11, 21, 5, 0, 0, 0, time.Local)
	for _, tt := range []struct {
		waiting locks.Waiting
		want    string
	}{
		{locks.Waiting{}, "leaderrun: waiting for 0s"},
		{locks.Waiting{Status: locks.Status{Holder: "h/1\x1b[2J"}}, `leaderrun: waiting for 0s; held by h/1\x1b[2J`},
		{locks.Waiting{Status: locks.Status{Holder: "h", Since: since}, Position: 3},
			"leaderrun: waiting for 0s, number 3; held by h since 2006-11-21 05:00:00"},
	} {
		l := &WaitLine{last: tt.waiting, since: time.Now()}
		if got := l.text(); got != tt.want {
			t.Errorf("got %q; want %q", got, tt.want)
		}
	}
}

// TestWaitLineFits: with an id that leaderrun has made, the line fits.
func TestWaitLineFits(t *testing.T) {
	t.Parallel()
	status := locks.Status{Holder: "web-1/4711/5e1f00ab", Since: time.Now()}
	l := &WaitLine{last: locks.Waiting{Status: status, Position: 3}, since: time.Now().Add(-90 * time.Second)}
	if n := len(l.text()); n >= Width {
		t.Errorf("%d columns: %s", n, l.text())
	}
	day := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	if got := moment(day, day.Add(time.Hour)); got != "05:00" {
		t.Errorf("today: %s", got)
	}
	if got := moment(day, day.Add(24*time.Hour)); got != "2026-11-21 05:00:00" {
		t.Errorf("yesterday: %s", got)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"äöüß", 3, "äöü"}, {"abc", 0, ""}, {"abc", -1, "abc"}} {
		if got := cut(tt.text, tt.n); got != tt.want {
			t.Errorf("cut(%q, %d) = %q; want %q", tt.text, tt.n, got, tt.want)
		}
	}
}

// TestWaitLineComesAndGoes: the line is shown, overwritten by a message, and wiped.
func TestWaitLineComesAndGoes(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := testConsole(&b)
	l := &WaitLine{out: c.sink, file: c.file, since: time.Now(), timer: time.NewTimer(time.Hour)}
	c.wait = l
	c.line("before")
	l.draw()
	c.line("over it")
	l.CampaignEnded()
	c.line("after")
	l.draw() // a timer that fired late
	c.Flush()
	want := "leaderrun: before\n" +
		wipeLine + "leaderrun: waiting for 0s" +
		wipeLine + "leaderrun: over it\n" +
		wipeLine + "leaderrun: after\n"
	if got := strings.ReplaceAll(b.String(), wipeLine+"leaderrun: waiting for 0s"[:0], wipeLine); got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

// TestWaitLineAgain: a second wait is shown as well, after a job.
func TestWaitLineAgain(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := testConsole(&b)
	l := &WaitLine{out: c.sink, file: c.file}
	for range 2 {
		l.Waiting(locks.Waiting{})
		l.draw()
		l.CampaignEnded()
		l.Event(event.Event{Kind: event.Rejoining})
		l.draw() // a timer that fired late
	}
	c.Flush()
	line := wipeLine + "leaderrun: waiting for 0s" + wipeLine
	if got := b.String(); got != line+line {
		t.Errorf("got %q; want %q twice", got, line)
	}
}

// TestNoWaitLine: without a terminal nothing is shown.
func TestNoWaitLine(t *testing.T) {
	t.Parallel()
	l := &WaitLine{}
	l.Waiting(locks.Waiting{})
	if l.timer != nil {
		t.Error("a line was planned")
	}
	l.CampaignEnded()
	if got := (*WaitLine)(nil).cover(); got != nil {
		t.Errorf("got %q", got)
	}
}
