package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// takeOver checks a takeover with a short lease. On a machine that is busy for a moment that
// lease may run out before it is renewed, so a longer one is tried after that.
func (e *exam) takeOver(ctx context.Context) []Check {
	ttl := min(e.shortest(2*e.rtt), patientTTL)
	for {
		c, err := e.abandonOne(ctx, ttl)
		if errors.Is(err, locks.ErrLost) && ttl < patientTTL {
			ttl = min(2*ttl, patientTTL)
			continue
		}
		if err != nil {
			c = failed("take-over", err)
		}
		return []Check{c}
	}
}

// abandonOne abandons the lock of one contender, and checks that the next one does not get
// it before the lease has ended.
func (e *exam) abandonOne(ctx context.Context, ttl time.Duration) (c Check, err error) {
	first, err := e.open(ctx, ttl)
	if err != nil {
		return c, err
	}
	defer func() { first.end(ctx) }()
	asked := e.Clock.Now()
	grant, err := first.take(ctx)
	switch {
	case err != nil:
		return c, err
	case grant.TTL > patientTTL:
		return skipped("take-over", "skipped: the server grants no lease that is short enough to wait for: "+grant.TTL.String()+" is its shortest"), nil
	}
	second, err := e.queue(ctx, ttl)
	if rival, ok := errors.AsType[*rivalError](err); ok && rival.at.Sub(asked) >= keepalive.Trusted(grant.TTL) {
		err = fmt.Errorf("%w: its lease ended before there was a second contender", locks.ErrLost)
	}
	if err != nil {
		return c, err
	}
	defer func() { second.handle.end(ctx) }()
	sent := e.Clock.Now()
	if err := first.renewNow(ctx); err != nil {
		return c, err
	}
	first.abandon()
	at, err := second.get(ctx, patienceFor(grant))
	if err != nil {
		return c, err
	}
	return e.judgeTakeOver(grant, second.handle.lease.Grant(), sent, at), nil
}

// judgeTakeOver judges a takeover at the given time, from a term whose last renewal was sent
// at the time sent.
func (e *exam) judgeTakeOver(before, after locks.Grant, sent, at clock.Instant) Check {
	took := at.Sub(sent)
	f := figures{"took_ns": took, "lease_ns": before.TTL, "tokens": []uint64{before.Token, after.Token}}
	c := ok("take-over", f, "the waiter held the lock %s after the last renewal of a lease of %v; token %d, then %d", show(took), before.TTL, before.Token, after.Token)
	if n := notRisen("take-over", before.Token, after.Token); n != nil {
		c = *n
		c.Figures = f
		return c
	}
	switch {
	case took < keepalive.Trusted(before.TTL):
		c.Level, c.Fix = Error, "use --takeover strict; find out why the server ends leases early"
		c.Text += ": that is before its end"
	case after.Clean:
		c.Level, c.Fix = Error, "do not rely on --takeover strict with this backend, and report it"
		c.Text += "; the backend reported that the lock had been released"
	}
	return c
}
