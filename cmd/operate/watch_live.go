package operate

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
)

// liveWatcher draws what is, at each change, each second for the times, and soon
// after the terminal has another size.
func (w *watching) liveWatcher() *watcher {
	f := w.Out.(*os.File) // as it is a terminal
	board := &view.Board{
		Out: f, Title: "leaderrun watch " + locks.RedactText(w.Backend), Style: w.style(false),
		Size: func() (int, int) { columns, rows, _ := output.Screen(f); return columns, rows },
	}
	l := &live{board: board, ended: make(chan struct{})}
	return &watcher{seen: l.seen, end: l.end}
}

// A live screen. It is entered when there is something to show, so that an error
// before is a line like any other.
type live struct {
	board *view.Board
	enter sync.Once
	ended chan struct{}
	done  sync.WaitGroup

	mu      sync.Mutex
	now     []view.Lock
	looked  time.Time
	trouble error
}

// leftHolds is how long what was left of a lease is shown. It has been renewed since,
// or not: of that nobody tells.
const leftHolds = 2 * time.Second

// resizeLook is how often the size of the terminal is looked at.
const resizeLook = 100 * time.Millisecond

func (l *live) seen(_ context.Context, now []view.Lock, changes []view.Change) error {
	l.mu.Lock()
	l.now, l.trouble = now, nil
	for _, c := range changes {
		l.trouble = c.Trouble
	}
	if l.trouble == nil {
		l.looked = time.Now()
	}
	l.mu.Unlock()
	l.enter.Do(func() {
		l.board.Enter()
		l.done.Go(l.redraw)
	})
	l.draw()
	return nil
}

func (l *live) draw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.looked) > leftHolds {
		l.now = view.WithoutLeft(l.now)
	}
	l.board.Draw(l.now, l.trouble, now)
}

func (l *live) redraw() {
	tick := time.NewTicker(resizeLook)
	defer tick.Stop()
	stopped := stops()
	columns, rows := l.board.Size()
	drawn := time.Now()
	for {
		select {
		case <-l.ended:
			return
		case <-stopped:
			l.leaveForAWhile()
		case <-tick.C:
		}
		c, r := l.board.Size()
		if c == columns && r == rows && time.Since(drawn) < time.Second {
			continue
		}
		columns, rows, drawn = c, r, time.Now()
		l.draw()
	}
}

// leaveForAWhile gives the terminal back while we are stopped.
func (l *live) leaveForAWhile() {
	l.mu.Lock()
	l.board.Leave()
	stop()
	l.board.Enter()
	l.mu.Unlock()
	l.draw()
}

func (l *live) end() {
	close(l.ended)
	l.done.Wait()
	entered := true
	l.enter.Do(func() { entered = false })
	if entered {
		l.board.Leave()
	}
}
