package lockstest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// exclusionUnderFaults makes contenders on two paths to the store lead in turn while each
// path fails now and then, in every way.
func exclusionUnderFaults(e *env) {
	const contenders = 6
	paths := []*url.URL{e.u, e.twin()}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(e.times(5))*e.c.TTL+e.late())
	defer cancel()
	var book history
	var wg sync.WaitGroup
	for i := range contenders {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				e.leadOnce(ctx, &book, paths[i%2], fmt.Sprintf("contender %d, term %d", i, n), i%3 == 0)
			}
		})
	}
	cuts := e.makeFaults(ctx, paths)
	wg.Wait()
	book.judge(e)
	e.Logf("%d terms, %d cuts", book.served(), cuts)
	if book.served() < 2 {
		e.Errorf("only %d terms were served", book.served())
	}
	last := e.open("last").campaign()
	last.won(2*e.c.TTL + e.late() + e.prompt)
	last.k.release()
	e.eventually(e.c.TTL+e.late(), "nothing is left", func() bool { return len(e.leftovers()) == 0 })
}

// makeFaults cuts one of the paths at a time until ctx ends.
func (e *env) makeFaults(ctx context.Context, paths []*url.URL) (cuts int) {
	hows := []Cut{CutReplies, CutAll, CutReset}
	for ctx.Err() == nil {
		pause(rand.N(e.c.TTL))
		heal := e.sever(paths[cuts%2], hows[cuts/2%3])
		pause(rand.N(e.c.TTL))
		heal()
		cuts++
	}
	return cuts
}

// leadOnce serves one term, if it can get one. The job ends by itself or with the lease.
func (e *env) leadOnce(ctx context.Context, book *history, u *url.URL, holder string, try bool) {
	o := e.options(holder)
	o.ConnectTimeout = e.c.TTL
	k, err := e.tryOpen(u, o)
	if err != nil {
		pause(e.interval() / 4)
		return
	}
	defer k.Close()
	limited, cancel := context.WithTimeout(ctx, 2*e.c.TTL)
	defer cancel()
	l, err := keepalive.Acquire(limited, k, try, e.leaseOptions(o.TTL))
	if err != nil {
		pause(e.interval() / 4)
		return
	}
	start, work := e.now(), rand.N(e.c.TTL/4)
	if rand.N(6) == 0 {
		work = 2 * e.c.TTL
	}
	select {
	case <-l.Done():
	case <-time.After(work):
	}
	d, _ := l.Deadline()
	book.add(term{start, min(e.now(), d), l.Grant().Token, holder})
	released, stop := context.WithTimeout(context.Background(), e.interval())
	defer stop()
	_ = l.Release(released)
}

// requestsDuringCut checks that each request ends with its context, and that an outage is
// never mistaken for a loss.
func requestsDuringCut(e *env, how Cut) {
	a := e.openWith(e.u, e.longer("holder"))
	a.hold()
	b := e.openWith(e.u, e.longer("waiter")).campaignRenewing(false)
	b.queued()
	heal := e.sever(e.u, how)
	const limit = 300 * time.Millisecond
	for _, request := range []struct {
		name string
		call func(context.Context) error
	}{{"Renew", a.Renew}, {"Release", a.Release}} {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		start := time.Now()
		err := request.call(ctx)
		cancel()
		if err == nil || errors.Is(err, locks.ErrLost) || errors.Is(err, locks.ErrHeld) || errors.Is(err, locks.ErrNoLease) {
			e.Errorf("%s during a cut: got %v; want an error that is not ErrLost or nil", request.name, err)
		}
		if how != CutReset && !errors.Is(err, context.DeadlineExceeded) {
			e.Errorf("%s during a cut: got %v; want an error that wraps context.DeadlineExceeded", request.name, err)
		}
		if took := time.Since(start); took > limit+e.prompt {
			e.Errorf("%s during a cut took %v; its context had %v", request.name, took, limit)
		}
	}
	b.cancel()
	b.ended(2 * e.prompt)
	if !errors.Is(b.err, context.Canceled) {
		e.Errorf("an Acquire that is cancelled during a cut: got %v; want an error that wraps context.Canceled", b.err)
	}
	start := time.Now()
	_ = b.k.Close()
	if took := time.Since(start); took > e.prompt {
		e.Errorf("Close during a cut took %v", took)
	}
	heal()
	e.eventually(e.prompt, "the holder can release", func() bool { return a.giveUp() == nil })
	next := e.open("next").campaign() // b's place may have remained until the end of its lease
	next.won(b.k.o.TTL + e.late())
	next.k.release()
	e.eventually(e.prompt, "nothing is left", func() bool { return len(e.leftovers()) == 0 })
}
