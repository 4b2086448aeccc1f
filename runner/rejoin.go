package runner

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/runner/event"
)

// lasts reports whether something may follow the end of a job. If so, stopping the job
// does not mean that we stop.
func (r *run) lasts() bool { return r.Rejoin || r.Restart.OnFailure || r.Restart.OnSuccess }

// isLast reports whether a term with this outcome is the last one.
func (t *term) isLast(o outcome) bool {
	cl := o.class()
	rejoin := t.r.Rejoin || t.starved(o) && !t.r.Try && t.r.Clock.Now().Add(minPause) < t.r.startBy
	return !rejoin || t.sent != nil || t.unkillable || t.keeps || cl.final && !cl.lost
}

// rejoining reports that another campaign follows the term.
func (t *term) rejoining(wait time.Duration, o outcome) {
	why := o.reason()
	if o.class().lost {
		why = "leadership was lost and the job was stopped: " + why
	}
	t.report.log.Log(context.Background(), o.level(), "campaigning again", "pause", wait.Round(time.Millisecond), "err", why)
	t.report.emit(event.Event{Kind: event.Rejoining, Class: o.class().word, Reason: o.reason()})
}

// minPause is the shortest pause after we have given up the lock. With some backends, waiters look
// at the lock only every few seconds, and one of them must find it free.
const minPause = 4 * time.Second

// lookTime bounds the look at who waits, before a release.
const lookTime = time.Second

// nobodyWaits reports whether the backend says that nobody waits for our lock.
func (t *term) nobodyWaits() bool {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	if locks.Require(ctx, t.lock, "--rejoin", locks.CanInspect, locks.CanQueue) != nil {
		return false
	}
	i, ok := t.lock.(locks.Inspector)
	if !ok {
		return false
	}
	st, err := i.Inspect(ctx)
	return err == nil && st.Waiters == 0 && len(st.Queue) == 0
}

// pause returns how long to wait after a term before the next campaign. After a loss it is
// 0, because nobody leads, unless we lost the lock as soon as we had it: the cause may
// still be there. After we have given up the lock, it is long enough for somebody else to
// get it. Where nobody waits, we are the only standby: a job that has succeeded is started again
// soon, and only one that fails has growing pauses.
func (t *term) pause(b *backoff.Backoff, o outcome) time.Duration {
	ran := time.Duration(-1)
	if t.began != 0 {
		ran = t.r.Clock.Now().Sub(t.began)
	}
	switch cl := o.class(); {
	case cl.lost && ran >= t.r.Restart.Delay:
		return 0
	case t.alone && t.began != 0 && !o.failed():
		return min(b.Take(), t.r.Restart.Delay)
	case t.gaveUp && !t.alone:
		return t.r.Restart.MaxDelay/2 + rand.N(max(t.r.Restart.MaxDelay/2, 1))
	case t.starved(o):
		return minPause
	case t.grant.TTL > 0 && cl.word == event.ClassResigned:
		return max(b.Take(), minPause)
	case ran >= t.r.Restart.MaxDelay:
		b.Reset()
	}
	return b.Take()
}
