package queue

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// campaign returns the token once our entry leads.
func (e *Entry) campaign(ctx context.Context, try bool) (token uint64, err error) {
	v, err := e.place.Enter(ctx, try)
	switch {
	case err != nil:
		return 0, e.judge(err)
	case v.Leads:
		e.guard(lazily)
		return v.Token, nil
	case try:
		return 0, &locks.HeldError{Status: v.Status()}
	}
	return e.wait(ctx, v)
}

// wait waits until our entry leads. Who has none waits beside the queue, and enters when
// it may have become empty.
func (e *Entry) wait(ctx context.Context, v View) (token uint64, err error) {
	ctx, cancel := e.UntilOver(ctx)
	defer cancel()
	guarded := false
	for pause := new(backoff.Backoff); ; {
		if v.Token != 0 && !guarded {
			e.guard(0)
			guarded = true
		}
		if v.Leads {
			e.restampLazily()
			return v.Token, nil
		}
		e.tell(v)
		if v, err = e.change(ctx, v, pause); err != nil {
			return 0, e.judge(err)
		}
	}
}

// change waits until what is before us has changed, and returns the queue as it is then.
//
// A watch that ends for whatever reason means the same as an event: look at the queue
// again. That is repeated until there is an answer.
func (e *Entry) change(ctx context.Context, v View, pause *backoff.Backoff) (View, error) {
	err := e.place.Await(ctx)
	if err == nil {
		pause.Reset()
		if ctx.Err() != nil { // our patience ended while all was well
			return View{}, &locks.HeldError{Status: v.Status()}
		}
	}
	for warned := false; ; {
		if err == nil {
			var next View
			if next, err = e.place.Look(ctx); err == nil {
				return next, nil
			}
		}
		if !e.lock.passing(err) {
			return View{}, err
		}
		if !warned && ctx.Err() == nil {
			e.lock.log.Warn("the wait is disturbed; trying again", "err", e.lock.plain(err))
			warned = true
		}
		if pause.Wait(ctx) != nil {
			return View{}, err
		}
		err = nil
	}
}

// tell says what we wait for.
func (e *Entry) tell(v View) {
	if e.lock.o.Waiting != nil {
		e.lock.o.Waiting(locks.Waiting{Status: v.Status(), Lease: e.TTL(), Position: v.Position})
	}
}
