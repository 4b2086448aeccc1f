package cmd

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A waitLine tells somebody at a terminal, after a second, whom we wait for:
// one line that is wiped before the job starts. Elsewhere it does nothing.
type waitLine struct {
	out  *sink // nil: not on a terminal
	file *os.File

	mu      sync.Mutex
	timer   *time.Timer
	since   time.Time // when the wait began
	waiting locks.Waiting
	shown   bool
	wiped   bool
}

const wipeLine = "\r\x1b[K"

// wipeLimit is how long the start of the job waits for the terminal.
const wipeLimit = 100 * time.Millisecond

func (t *term) waitLine(o *options) *waitLine {
	t.wait = &waitLine{}
	if _, _, terminal := screen(t.file); terminal && !o.quiet && (!t.json || t.logFile != nil) {
		t.wait = &waitLine{out: t.sink, file: t.file}
	}
	return t.wait
}

// show takes news of what is waited for.
func (l *waitLine) show(w locks.Waiting) {
	if l.out == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = w
	if l.timer == nil {
		l.since = time.Now()
		l.timer = time.AfterFunc(time.Second, l.draw)
	}
}

func (l *waitLine) draw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wiped || l.timer == nil { // a timer that fired late
		return
	}
	l.shown = true
	width, _, _ := screen(l.file)
	_, _ = l.out.Write([]byte(wipeLine + cut(l.text(), width-1))) // a full line would move the cursor to the next
	l.timer.Reset(time.Second)
}

// text fits a terminal of 80 columns, unless the holder's id is longer than usual:
// then the end is cut off.
func (l *waitLine) text() string {
	s, now := l.waiting.Status, time.Now()
	text := fmt.Sprintf("leaderrun: waiting for %v", now.Sub(l.since).Round(time.Second))
	if l.waiting.Position > 0 {
		text += fmt.Sprintf(", number %d", l.waiting.Position)
	}
	if s.Holder != "" {
		text += "; held by " + locks.Printable(s.Holder)
	}
	if !s.Since.IsZero() {
		text += " since " + moment(s.Since.Local(), now)
	}
	return text
}

// moment is a time, without the day if that is today.
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

// cover returns what must be written before a line that is to stand in the
// place of this one, which comes back below it.
func (l *waitLine) cover() []byte {
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

// again begins another wait, after a line that was wiped.
func (l *waitLine) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer, l.shown, l.wiped = nil, false, false
}

// wipe removes the line, until the next wait if there is one, and returns when it
// is gone, or is not going to be soon.
func (l *waitLine) wipe() {
	l.mu.Lock()
	l.wiped = true
	if l.timer != nil {
		l.timer.Stop()
	}
	shown := l.shown
	l.mu.Unlock()
	if shown {
		_, _ = l.out.Write([]byte(wipeLine))
		l.out.drain(wipeLimit)
	}
}
