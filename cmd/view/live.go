package view

import (
	"context"
	"os"
	"sync"
	"time"
)

// A Live screen is a Board that is drawn at each change, each second for the times, and
// soon after the terminal has another size. It is entered when there is something to
// show, so that an error before is a line like any other.
type Live struct {
	*Board
	Stopped <-chan os.Signal // gets a value when we are to stop: Ctrl-Z
	Stop    func()           // stops us, and returns when we are continued

	ended chan struct{} // nil: it was not entered
	done  sync.WaitGroup

	mu      sync.Mutex
	now     []Lock
	looked  time.Time
	trouble error
}

// leftHolds is how long the time left of a lease is shown. After that the lease may have
// been renewed, which is not reported.
const leftHolds = 2 * time.Second

// resizeLook is how often the size of the terminal is looked at.
const resizeLook = 100 * time.Millisecond

// Seen draws what has been seen.
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
		l.now = WithoutLeft(l.now)
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

// pause gives the terminal back while we are stopped.
func (l *Live) pause() {
	l.mu.Lock()
	l.Leave()
	l.Stop()
	l.Enter()
	l.mu.Unlock()
	l.draw()
}

// End gives the terminal back, if it was taken.
func (l *Live) End() {
	if l.ended == nil {
		return
	}
	close(l.ended)
	l.done.Wait()
	l.Leave()
}
