package doctor

import (
	"context"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// We measure this number of renewals, but no longer than this time.
const (
	renewals  = 50
	measuring = 5 * time.Second
)

// roundTrip measures renewals, and says which ttl they allow.
func (e *exam) roundTrip(ctx context.Context) []Check {
	h, err := e.open(ctx, e.patient())
	if err != nil {
		return []Check{failed("round trip", err)}
	}
	defer func() { h.end(ctx) }()
	if _, err := h.take(ctx); err != nil {
		return []Check{failed("round trip", err)}
	}
	took, err := e.measure(ctx, h)
	if err != nil {
		return []Check{failed("round trip", err)}
	}
	return []Check{e.weigh(took)}
}

// measure renews repeatedly, and returns how long the renewals took, in ascending order.
// There is at least one.
func (e *exam) measure(ctx context.Context, h *handle) ([]time.Duration, error) {
	var took []time.Duration
	for end := e.Clock.Now().Add(measuring); len(took) < renewals; {
		e.pace(ctx)
		if len(took) > 0 && e.Clock.Now() >= end {
			break
		}
		start := e.Clock.Now()
		if err := h.renewNow(ctx); err != nil {
			return nil, err
		}
		took = append(took, e.Clock.Now().Sub(start))
	}
	slices.Sort(took)
	return took, nil
}

// weigh judges the ttl by how long renewals took, in ascending order. A renewal that takes
// longer than the limit of an attempt fails, and more than half of that limit is too close.
func (e *exam) weigh(took []time.Duration) Check {
	p50, p99 := rank(took, 50), rank(took, 99)
	e.rtt = p99
	limit := timing.New(e.TTL, timing.KillAfter).Attempt
	least, good := e.shortest(p99), e.shortest(2*p99)
	c := ok("round trip", figures{"renewals": len(took), "p50_ns": p50, "p99_ns": p99, "attempt_ns": limit, "ttl_ns": e.TTL, "least_ttl_ns": least, "good_ttl_ns": good},
		"%d renewals, p50 %s, p99 %s; with a ttl of %v, one may take %s", len(took), show(p50), show(p99), e.TTL, show(limit))
	switch {
	case p99 > limit && least > timing.MaxTTL:
		c.Level, c.class, c.Fix = Error, locks.ErrUsage, "no ttl is long enough: bring the server nearer, or make it faster"
	case p99 > limit:
		c.Level, c.class, c.Fix = Error, locks.ErrUsage, "use --ttl "+least.String()+" or more; "+good.String()+" leaves room"
	case 2*p99 > limit && good <= timing.MaxTTL:
		c.Level, c.Fix = Warning, "use --ttl "+good.String()+", so that a renewal may take twice as long"
	default:
		c.Text += "; these allow a ttl of " + good.String()
	}
	return c
}

// shortest returns the shortest ttl that the service grants and with which a renewal may take
// as long as attempt, and renewals are not more frequent than it allows.
func (e *exam) shortest(attempt time.Duration) time.Duration {
	ttl := max(timing.Shortest(attempt), e.MinTTL)
	for timing.New(ttl, timing.KillAfter).Renew < e.Spacing {
		ttl += time.Second
	}
	return ttl
}

// rank returns a percentile: the smallest value that the given percentage of values does not
// exceed.
func rank(sorted []time.Duration, percent int) time.Duration {
	return sorted[max((len(sorted)*percent+99)/100-1, 0)]
}
