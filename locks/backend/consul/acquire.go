package consul

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// Enter implements [queue.Entry]. To try a lock that is held takes one read, and no session.
func (e *entry) Enter(ctx context.Context, try bool) (v queue.View, err error) {
	ctx, cancel := e.campaign.UntilOver(ctx)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, e.lock.o.ConnectTimeout) // for all steps together
	defer stop()
	if try {
		err = e.lock.retry(ctx, e.look)
		if err != nil || !e.open() {
			return e.view(), err
		}
		e.fresh = true
	}
	if err := e.lock.retry(ctx, func(ctx context.Context) error { return e.begin(ctx, e.lock.o.TTL) }); err != nil {
		return v, err
	}
	err = e.lock.retry(ctx, func(ctx context.Context) error {
		v, err = e.join(ctx)
		return err
	})
	return v, err
}

// begin makes the session. One whose answer was lost has locked nothing, and ends by itself.
func (e *entry) begin(ctx context.Context, ttl time.Duration) error {
	body := struct {
		Name, TTL, LockDelay, Behavior string
		NodeChecks                     []string
	}{
		Name: "leaderrun " + e.lock.o.Name, TTL: ttl.String(), Behavior: "release", // see lapse
		LockDelay:  min(ttl, maxLockDelay).String(),
		NodeChecks: []string{}, // its default ends the session as soon as others cannot reach the agent
	}
	var answer struct{ ID string }
	sent := clock.Boot{}.Now()
	_, err := e.lock.client.put(ctx, "/v1/session/create", body, maxAnswer, &answer)
	if least := leastTTL(err); least > ttl && least <= maxLockDelay {
		return e.begin(ctx, least)
	}
	if err == nil && answer.ID == "" {
		err = errForeign
	}
	if err != nil {
		return err
	}
	e.started(handover{Session: answer.ID, TTL: ttl}, sent)
	return nil
}

// maxLockDelay is the longest that Consul grants.
const maxLockDelay = time.Minute

// tooShort is how a server says what its session_ttl_min is.
var tooShort = regexp.MustCompile(`Invalid Session TTL .* must be between \[([0-9a-z.]+)=`)

// leastTTL returns the shortest TTL that the server grants if err says that ours is shorter.
func leastTTL(err error) (least time.Duration) {
	if e, ok := errors.AsType[*statusError](err); ok {
		if m := tooShort.FindStringSubmatch(e.text); m != nil {
			least, _ = time.ParseDuration(m[1])
		}
	}
	return least
}

// Why a key that was free could not be locked, although the server is well.
var (
	errQuicker = errors.New("somebody else was quicker")
	errDelayed = errors.New("nobody gets the key until a lock delay is over")
)

// join looks at the key, and locks it if it is free.
func (e *entry) join(ctx context.Context) (queue.View, error) {
	session, _ := e.ours()
	for {
		err := e.look(ctx)
		if err == nil && e.open() {
			err = e.acquire(ctx, session)
		}
		e.delayed = errors.Is(err, errDelayed)
		switch {
		case errors.Is(err, errQuicker):
			continue
		case err != nil && !e.delayed:
			return queue.View{}, err
		}
		if e.seen.held() && e.seen.Session == session {
			e.mu.Lock()
			e.token = e.seen.ModifyIndex
			e.mu.Unlock()
		}
		return e.view(), nil
	}
}

// look reads the key, unless Await or Enter has just done so.
func (e *entry) look(ctx context.Context) (err error) {
	if !e.fresh {
		e.seen, e.index, err = e.lock.client.block(ctx, e.lock.key, 0, 0)
	}
	e.fresh = false
	if err == nil {
		err = e.lock.foreign(e.seen)
	}
	return err
}

// open reports whether the key can be locked.
func (e *entry) open() bool { return !e.seen.held() && e.lock.left(e.lock.o.Name, e.seen) == 0 }

// foreign returns an error if somebody else uses the key for something.
func (l *lock) foreign(p *pair) error {
	switch s := l.client.settings; {
	case p == nil, p.held(), p.Flags == s.flags():
		return nil
	case s.compat:
		return locks.Usagef("the key %s is not a lock of `consul lock`: its flags are %#x; nothing of it was changed", l.key, p.Flags)
	}
	return locks.Foreign("the key "+l.key, nil, "prefix")
}

// acquire locks the key, if it is still as we saw it, free. So a request that arrives late, or
// twice, changes nothing. If it fails, what we have seen remains.
func (e *entry) acquire(ctx context.Context, session string) error {
	e.mu.Lock()
	e.tried = true
	e.mu.Unlock()
	o := e.lock.o
	o.TTL = e.campaign.TTL() // as granted
	ops := []op{as(e.seen, e.lock.key)}
	if e.seen != nil { // a key that is new has its first index as its token
		ops = append(ops, op{Verb: "delete", Key: e.lock.key})
	}
	ops = append(ops, op{Verb: "lock", Key: e.lock.key, Value: queue.NewLabel(o), Flags: e.lock.client.settings.flags(), Session: session})
	all, err := e.lock.client.transact(ctx, ops...)
	refusal, refused := errors.AsType[*conflict](err)
	switch {
	case err == nil && len(all) == 0:
		return &statusError{http.StatusForbidden, "Permission denied: the token may write the key but not read it"}
	case err == nil:
		e.seen = all[len(all)-1]
		return nil
	case !refused:
		return err
	case first(err), strings.Contains(refusal.What, "lock is already held"):
		return errQuicker
	case isDelay(err):
		return errDelayed
	case strings.Contains(refusal.What, "invalid session"):
		return errExpired
	}
	return err
}

// as is the operation that makes a transaction fail unless the key is as it was seen.
func as(p *pair, key string) op {
	if p == nil {
		return op{Verb: "check-not-exists", Key: key}
	}
	return op{Verb: "check-index", Key: key, Index: p.ModifyIndex}
}

// view returns what we have seen. While the server gives the key to nobody, somebody else
// counts as the holder.
func (e *entry) view() (v queue.View) {
	v.Line = e.lock.line(e.lock.o.Name, e.seen)
	switch {
	case e.delayed && v.Head == nil:
		v.Head = &queue.Head{Label: []byte(`{"holder": "nobody; a lock delay"}`)}
	case e.delayed: // by a server that has begun its delay later than our watch
		v.Head.Confirm = e.lock.wait() / 5
	}
	if _, v.Token = e.ours(); v.Token != 0 {
		v.Leads = true
	}
	return v
}

// Await implements [queue.Entry]. The server does not report the end of a lock delay.
func (e *entry) Await(ctx context.Context) error {
	if e.delayed {
		e.delayed = false
		_ = backoff.Sleep(ctx, e.lock.wait()/5)
		return nil
	}
	for !e.open() {
		wait := e.lock.wait()
		if left := e.lock.left(e.lock.o.Name, e.seen); left > 0 {
			wait = min(wait, max(left, time.Millisecond))
		}
		p, index, err := e.lock.client.block(ctx, e.lock.key, e.index, wait)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		e.fresh = !p.same(e.seen)
		e.seen, e.index = p, index
		if e.fresh {
			return nil
		}
		e.campaign.StillWaits()
	}
	return nil
}

// Look implements [queue.Entry].
func (e *entry) Look(ctx context.Context) (v queue.View, err error) {
	err = e.lock.retry(ctx, func(ctx context.Context) error {
		v, err = e.join(ctx)
		return err
	})
	return v, err
}
