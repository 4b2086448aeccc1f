package queue

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/answers"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A Campaign is an Acquire, and the term that follows if it is granted. It makes one entry,
// and is over when the entry was given up, failed, or was lost. A handle has one campaign,
// except that each repetition of a try that was refused is another.
type Campaign struct {
	lock    *Lock
	entry   Entry
	answers *answers.Answers // while it waits
	life    context.Context  // ends when the campaign is over
	finish  context.CancelFunc
	leaving workers.Turn  // to end the session
	ended   chan struct{} // closed when the entry was told that the campaign is over
	resumed bool          // the entry is one that another handle has made; set before Acquire
	placed  bool          // the entry waits in the queue; only Acquire's goroutine uses it
	waited  bool          // Acquire has begun to wait

	mu    sync.Mutex
	ttl   time.Duration // of the session as granted; 0: there is none (yet)
	token uint64        // of the entry that was granted the lock; 0: none
	over  error         // why the campaign is over; nil: it is not
}

func (l *Lock) newCampaign() *Campaign {
	c := &Campaign{lock: l, leaving: workers.NewTurn(), ended: make(chan struct{})}
	c.answers = answers.New(l.traits.Clock, l.Options.TTL, l.Options.ConnectTimeout)
	c.life, c.finish = context.WithCancel(context.Background())
	return c
}

// Granted notes the TTL that the server granted to the session, which can be renewed from
// then on.
func (c *Campaign) Granted(ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ttl = ttl
}

// TTL returns the TTL of the session, or 0 if there is none yet.
func (c *Campaign) TTL() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ttl
}

// Token returns the token of the entry once it was granted the lock, or 0.
func (c *Campaign) Token() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// Over returns why the campaign is over, or nil if it is not.
func (c *Campaign) Over() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// StillWaits notes an answer of the server, other than to Look, that shows that the queue before
// our entry is as it was at the last Look.
func (c *Campaign) StillWaits() { c.answers.Same() }

// UntilOver returns a context that ends with ctx and when the campaign is over.
func (c *Campaign) UntilOver(ctx context.Context) (context.Context, context.CancelFunc) {
	return workers.Join(ctx, c.life)
}

// Spawn runs f in the background until the campaign is over. Close waits for it.
func (c *Campaign) Spawn(f func(context.Context)) {
	if c.Over() != nil {
		return
	}
	_ = c.lock.Workers.Go(func(ctx context.Context) {
		ctx, cancel := c.UntilOver(ctx)
		defer cancel()
		f(ctx)
	})
}

// Lose ends a campaign whose entry is definitely no longer ours.
func (c *Campaign) Lose(why error) {
	if c.end(why) {
		c.lock.Log.Info("lost the lock, or the place in its queue", "err", why)
		c.lock.Losses <- c.lock.Fail(context.Background(), "keep", why)
	}
}

// judge ends the campaign if err, which a method of the entry returned, means that the
// entry is lost.
func (c *Campaign) judge(err error) error {
	if errors.Is(err, locks.ErrLost) {
		c.Lose(err)
	}
	return err
}

// end ends the campaign, unless it is over already, and with it the handle. It reports whether
// it was the first to do so.
func (c *Campaign) end(why error) (first bool) { return c.stop(why, c.lock.finish) }

// abandon ends the campaign, unless it is over already. The handle may have another one.
func (c *Campaign) abandon(why error) { c.stop(why, func(error) {}) }

func (c *Campaign) stop(why error, finish func(error)) (first bool) {
	c.mu.Lock()
	if first = c.over == nil; first {
		finish(why) // whoever finds the campaign over finds the reason
		c.over = why
	}
	c.mu.Unlock()
	if first {
		c.finish()
		c.entry.End(why)
		close(c.ended)
	}
	return first
}

// lead notes that our entry, which has the token, leads.
func (c *Campaign) lead(token uint64) {
	c.mu.Lock()
	c.token = token
	c.mu.Unlock()
	c.watchRequests()
}

// watchEntry watches our own entry, beginning after a delay, until the term is over: an
// operator may delete it.
func (c *Campaign) watchEntry(delay time.Duration) {
	c.Spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, delay) != nil {
			return
		}
		for pause := new(backoff.Backoff); ; {
			err := c.judge(c.entry.WatchEntry(ctx, pause))
			if err != nil && ctx.Err() == nil {
				c.lock.Log.Debug("the watch of the lock's entry ended", "err", c.lock.Plain(err))
			}
			if errors.Is(err, locks.ErrLost) || pause.Wait(ctx) != nil {
				return
			}
		}
	})
}

// updateLater writes the label of our entry again once we lead after a wait, so that it
// says since when. It does not retry, because little depends on it.
func (c *Campaign) updateLater() {
	c.Spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, putOff) != nil {
			return
		}
		if err := c.judge(c.entry.Update(ctx)); err != nil {
			c.lock.Log.Debug("cannot renew the lock's entry", "err", c.lock.Plain(err))
		}
	})
}

// undo removes what a failed campaign may have left. The caller's context, which may have
// ended, does not bound it. A failure is a warning only if a session was granted: otherwise
// there may be nothing left.
func (c *Campaign) undo(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	level := slog.LevelDebug
	if c.TTL() > 0 {
		level = slog.LevelWarn
	}
	if err := c.leave(ctx); err != nil {
		c.lock.Log.Log(ctx, level, "cannot undo an acquire; its lease will run out", "err", c.lock.Plain(err), "ttl", c.lock.Options.TTL)
	}
}

// leave ends the session of a campaign that is over, and so deletes the entry. Only one
// call does so at a time: a second one could find the session gone before the first has
// its answer. If another goroutine has noted that the campaign is over, it may not have ended
// the entry yet.
func (c *Campaign) leave(ctx context.Context) error {
	select {
	case <-c.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := c.leaving.Take(ctx); err != nil {
		return err
	}
	defer c.leaving.Leave()
	return c.entry.Leave(ctx)
}
