package view

import (
	"context"
	"os"
	"sync"
	"time"
)

// A Live is a Board that is drawn at each change, once a second for the times, and soon after
// the terminal's size changes. It is entered when there is something to show, so that an
// earlier error is printed like any other.
type Live struct {
	*Board
	Stopped <-chan os.Signal // receives the signal of Ctrl-Z
	Stop    func()           // stops this process, and returns when it is continued

	ended chan struct{} // nil: the screen was not entered
	done  sync.WaitGroup

	mu      sync.Mutex
	now     []Lock
	looked  time.Time
	trouble error
}

// leftHolds is how long we show the time that is left of a lease. After that the lease may
// have been renewed, which is not reported.
const leftHolds = 2 * time.Second

// resizeLook is how often we look at the size of the terminal.
const resizeLook = 100 * time.Millisecond

// Seen draws the result of a look.
func (l *Live) Seen(_ context.Context, now []Lock, changes []Change) error {
	l.mu.Lock()
	l.now, l.trouble = now, nil
	for _, c := range changes {
		l.trouble = c.Trouble
	}
	if l.trouble == nil {
		l.looked = time.Now()
	}
	l.mu.Unlock()
	if l.ended == nil {
		l.ended = make(chan struct{})
		l.Enter()
		l.done.Go(l.redraw)
	}
	l.draw()
	return nil
}

func (l *Live) draw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.looked) > leftHolds {
		l.now = withoutLeft(l.now)
	}
	l.Draw(l.now, l.trouble, now)
}

func (l *Live) redraw() {
	tick := time.NewTicker(resizeLook)
	defer tick.Stop()
	columns, rows := l.Size()
	drawn := time.Now()
	for {
		select {
		case <-l.ended:
			return
		case <-l.Stopped:
			l.pause()
		case <-tick.C:
		}
		c, r := l.Size()
		if c == columns && r == rows && time.Since(drawn) < time.Second {
			continue
		}
		columns, rows, drawn = c, r, time.Now()
		l.draw()
	}
}

// pause stops this process, and leaves the screen meanwhile.
func (l *Live) pause() {
	l.mu.Lock()
	l.Leave()
	l.Stop()
	l.Enter()
	l.mu.Unlock()
	l.draw()
}

// End leaves the screen, if it was entered.
func (l *Live) End() {
	if l.ended == nil {
		return
	}
	close(l.ended)
	l.done.Wait()
	l.Leave()
}
