package runner

import (
	"context"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// funcs are a Host of functions. Those that may be nil say so.
type funcs struct {
	open     func(context.Context, func(locks.Waiting)) (locks.Lock, error)
	starter  func() (proc.Starter, error)
	notOfJob func(int) bool          // may be nil
	isOuter  func(locks.Status) bool // may be nil
	terminal func() Terminal         // may be nil
}

func (f *funcs) Open(ctx context.Context, waiting func(locks.Waiting)) (locks.Lock, error) {
	return f.open(ctx, waiting)
}
func (f *funcs) Starter() (proc.Starter, error) { return f.starter() }
func (f *funcs) NotOfJob(pid int) bool          { return f.notOfJob != nil && f.notOfJob(pid) }
func (f *funcs) IsOuter(s locks.Status) bool    { return f.isOuter != nil && f.isOuter(s) }
func (f *funcs) Terminal() Terminal {
	if f.terminal == nil {
		return nil
	}
	return f.terminal()
}

// A watch is an Observer of functions, all of which but event may be nil.
type watch struct {
	Unobserved
	event         func(event.Event)
	waiting       func(locks.Waiting)
	campaignEnded func()
	renewed       func(keepalive.Renewal)
	heartbeat     func(heartbeat.Stage) time.Duration
}

func (w *watch) Event(e event.Event) { w.event(e) }

func (w *watch) Waiting(s locks.Waiting) {
	if w.waiting != nil {
		w.waiting(s)
	}
}

func (w *watch) Renewed(n keepalive.Renewal) {
	if w.renewed != nil {
		w.renewed(n)
	}
}

func (w *watch) CampaignEnded() {
	if w.campaignEnded != nil {
		w.campaignEnded()
	}
}

func (w *watch) Heartbeat(s heartbeat.Stage) time.Duration {
	if w.heartbeat == nil {
		return 0
	}
	return w.heartbeat(s)
}
