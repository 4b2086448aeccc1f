package guard

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// A node is a host, on which leaderrun is started again whenever it has ended.
type node struct {
	w       *world
	id      int
	clock   skewed
	watches bool // its handles notice when the lock is taken away

	leaderrun *leaderrun
	guard     *process
	work      *work

	requests, campaigns, worked int

	network   kind          // its fault; "": none
	troubles  int           // current faults, of the host and of the store
	fineSince time.Duration // when the last fault ended
	suspended bool
	resumed   chan struct{}
	woke      time.Duration // when it was last resumed, in true time; 0: never
	busy      time.Duration // until then, another fault of a process would be a second one
}

func newHost(w *world, id int) *node {
	return &node{w: w, id: id, clock: skewed{clock.Instant((1000 + time.Duration(id)*137) * time.Hour), w.ppm[id]}, watches: id%2 == 0}
}

// delivery returns what happens to the next request. The caller holds mu.
func (h *node) delivery() delivery {
	h.requests++
	f := h.w.delivery(h.network, h.id, h.requests)
	const least = 10 * time.Millisecond
	left := h.w.until - h.w.elapsed() // no request is under way when the faults have ended
	f.out %= max(left, least)
	f.back %= max(left-f.out, least)
	return f
}

// later calls f when the host has been awake for d. It holds mu during the call.
func (h *node) later(d time.Duration, f func()) {
	time.AfterFunc(d, func() {
		h.w.mu.Lock()
		defer h.w.mu.Unlock()
		if h.suspended {
			h.w.done.Go(func() { h.whenResumed(f) })
			return
		}
		f()
	})
}

func (h *node) whenResumed(f func()) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	for h.suspended {
		resumed := h.resumed
		h.w.mu.Unlock()
		<-resumed
		h.w.mu.Lock()
	}
	f()
}

// live runs leaderrun again and again.
func (h *node) live() {
	for n := 1; ; n++ {
		r := h.w.dice(ofHosts, h.id, n)
		time.Sleep(below(r, 300*time.Millisecond))
		h.w.mu.Lock()
		if h.w.over {
			h.w.mu.Unlock()
			return
		}
		l := newLeaderrun(h)
		h.leaderrun = l
		if h.suspended {
			l.freeze()
		}
		h.w.note(h.id, "leaderrun starts", int64(n))
		h.w.mu.Unlock()

		_, err := runner.Run(l.ctx, l, l, l.options())
		l.end() // the system closes the files of a process at its end

		h.w.mu.Lock()
		h.leaderrun = nil
		h.w.note(h.id, "leaderrun ends: "+text(err), int64(n))
		h.w.mu.Unlock()
		if l.isDead() {
			time.Sleep(below(r, 3*time.Second)) // then it is started again
		}
	}
}

func text(err error) string {
	if err == nil {
		return "the job ended"
	}
	return err.Error()
}

// A leaderrun is one process of it.
type leaderrun struct {
	runner.Unobserved
	*process
	ctx     context.Context
	end     context.CancelFunc
	signals chan os.Signal
	handle  *handle
	line    *end // to the guard
	answer  func() socket.Answer
}

func newLeaderrun(h *node) *leaderrun {
	l := &leaderrun{process: newProcess(h), signals: make(chan os.Signal, 1)}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.ended = func() {
		l.end()
		if l.line != nil {
			l.line.close()
		}
	}
	return l
}

func (l *leaderrun) options() runner.Options {
	return runner.Options{
		Command: proc.Command{Path: "/bin/job", Args: []string{"job"}},
		Lock:    "elections", Backend: "model://store", Holder: "host",
		ConnectTimeout: 5 * time.Second,
		Timing:         l.w.timing,
		Signal:         syscall.SIGTERM,
		Signals:        l.signals,
		Clock:          l,
		Logger:         slog.New(slog.DiscardHandler),
		Rejoin:         l.w.jittery,
		Restart:        runner.Restart{OnFailure: l.w.jittery, Delay: 100 * time.Millisecond, MaxDelay: time.Second},
		Serve: func(answer func() socket.Answer) (*socket.Server, error) {
			l.answer = answer
			return nil, errors.New("no socket")
		},
	}
}

// Event implements runner.Observer.
func (l *leaderrun) Event(e event.Event) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if e.Kind == event.Acquired {
		l.handle.held = true
	}
	if e.Kind == event.Lost {
		l.w.note(l.host.id, "lost: "+e.Reason, int64(e.Token))
	}
}

func (l *leaderrun) NotOfJob(int) bool         { return false }
func (l *leaderrun) IsOuter(locks.Status) bool { return false }
func (l *leaderrun) Terminal() runner.Terminal { return nil }
