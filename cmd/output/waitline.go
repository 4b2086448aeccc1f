package output

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/event"
)

// A WaitLine is a line on a terminal that shows who holds the lock. It appears after a
// second, and is wiped before the job starts. Without a terminal it does nothing.
type WaitLine struct {
	runner.Unobserved

	out  *Sink // nil: there is no terminal
	file *os.File

	mu    sync.Mutex
	timer *time.Timer
	since time.Time // when the wait began
	last  locks.Waiting
	shown bool
	wiped bool
}

const wipeLine = "\r\x1b[K"

// wipeLimit is how long the start of the job waits at most for the terminal.
const wipeLimit = 100 * time.Millisecond

// WaitLine makes the line of a run.
func (c *Console) WaitLine(quiet bool) *WaitLine {
	c.wait = &WaitLine{}
	if _, _, terminal := Screen(c.file); terminal && !quiet && (!c.set.JSON || c.logFile != nil) {
		c.wait = &WaitLine{out: c.sink, file: c.file}
	}
	return c.wait
}

// Waiting sets who holds the lock.
func (l *WaitLine) Waiting(w locks.Waiting) {
	if l.out == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = w
	if l.timer == nil {
		l.since = time.Now()
		l.timer = time.AfterFunc(time.Second, l.draw)
	}
}

func (l *WaitLine) draw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wiped || l.timer == nil { // a timer that fired late
		return
	}
	l.shown = true
	width, _, _ := Screen(l.file)
	_, _ = l.out.Write([]byte(wipeLine + cut(l.text(), width-1))) // a full line would move the cursor to the next one
	l.timer.Reset(time.Second)
}

// text returns the line. It fits a terminal of 80 columns, unless the holder's id is longer
// than usual: then its end is cut off.
func (l *WaitLine) text() string {
	s, now := l.last.Status, time.Now()
	text := fmt.Sprintf("leaderrun: waiting for %v", now.Sub(l.since).Round(time.Second))
	if l.last.Position > 0 {
		text += fmt.Sprintf(", number %d", l.last.Position)
	}
	if s.Holder != "" {
		text += "; held by " + locks.Printable(s.Holder)
	}
	if !s.Since.IsZero() {
		text += " since " + moment(s.Since.Local(), now)
	}
	return text
}

// moment returns a time as text, without the day if that is today.
func moment(t, now time.Time) string {
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format(time.DateTime)
}

// cut returns at most n runes of a text.
func cut(s string, n int) string {
	if r := []rune(s); n >= 0 && len(r) > n {
		return string(r[:n])
	}
	return s
}

// cover returns what must be written before a message that replaces this line on the
// screen. The line comes back below the message.
func (l *WaitLine) cover() []byte {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.shown || l.wiped {
		return nil
	}
	return []byte(wipeLine)
}

// Event begins another wait, after the line was wiped.
func (l *WaitLine) Event(e event.Event) {
	if e.Kind != event.Rejoining {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer, l.shown, l.wiped = nil, false, false
}

// CampaignEnded removes the line until the next wait, and returns when it is gone, or after
// wipeLimit.
func (l *WaitLine) CampaignEnded() {
	l.mu.Lock()
	l.wiped = true
	if l.timer != nil {
		l.timer.Stop()
	}
	shown := l.shown
	l.mu.Unlock()
	if shown {
		_, _ = l.out.Write([]byte(wipeLine))
		l.out.Drain(wipeLimit)
	}
}

// Progress shows what is being done, in a line that the next call replaces; "" removes it.
// Without a terminal it does nothing.
func (c *Console) Progress(what string) {
	width, _, terminal := Screen(c.file)
	switch {
	case !terminal:
	case what == "":
		_, _ = c.sink.Write([]byte(wipeLine))
		c.sink.Drain(wipeLimit)
	default:
		_, _ = c.sink.Write([]byte(wipeLine + cut(what+" …", width-1)))
	}
}
