package gossip

import (
	"context"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// Among the members that contend for a lock the oldest leads, or the one with the greatest
// priority. All members in one view decide alike, so nobody is elected. Two views may have
// two leaders: this excludes nobody.

const (
	// settling is how long a view must be the same before anybody acts on it: a member that
	// has just joined may still take the timeline of the others.
	settling = time.Second
	// advertising bounds the time in which a change reaches another member.
	advertising = 500 * time.Millisecond
)

// campaign waits until we are the first of all contenders, and nobody else leads.
func (l *Lock) campaign(ctx context.Context, try bool) (uint64, error) {
	if err := l.enter(ctx, true); err != nil {
		return 0, err
	}
	if v := l.view(); try && v.led(l.id) { // who contends may end the term of another
		return 0, &locks.HeldError{Status: v.status()}
	}
	label := l.label
	label.Since = time.Now()
	l.advertise(func(c *card) { c.Contends, c.Label = true, label })
	began := time.Now()
	for {
		v := l.view()
		switch first := v.first(); {
		case l.ended() != nil:
			return 0, l.ended()
		case first.name == l.id && v.enough(l.settings.least) == nil && !v.led(l.id):
			leader, token := l.label, v.token()+1
			leader.Since = time.Now()
			l.advertise(func(c *card) { c.Leads, c.Token, c.Label = true, token, leader })
			return token, nil
		case try && time.Since(began) > settling && v.enough(l.settings.least) != nil:
			return 0, fmt.Errorf("%w: %w", locks.ErrUnavailable, v.enough(l.settings.least))
		case try && len(v) > 0 && time.Since(began) > settling:
			return 0, &locks.HeldError{Status: v.status()}
		case !try:
			l.report(v)
		}
		if err := l.pause(ctx); err != nil {
			return 0, l.waited(v, err)
		}
	}
}

// waited returns the error of a campaign whose context has ended: what we see is what there
// is.
func (l *Lock) waited(v view, err error) error {
	if few := v.enough(l.settings.least); few != nil {
		return fmt.Errorf("%w: %w", locks.ErrUnavailable, few)
	}
	if v.led(l.id) {
		return fmt.Errorf("%w (%w)", err, &locks.HeldError{Status: v.status()})
	}
	return err
}

// pause waits for a change, and at most for a moment, because a view changes by time as
// well.
func (l *Lock) pause(ctx context.Context) error {
	timer := time.NewTimer(settling / 4)
	defer timer.Stop()
	select {
	case <-l.changed:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// report calls Waiting when the leader changes.
func (l *Lock) report(v view) {
	leads := v.leads()
	if l.o.Waiting == nil || len(leads) == 0 || leads[0].name == l.leader {
		return
	}
	l.leader = leads[0].name
	l.o.Waiting(locks.Waiting{Status: v.leader()})
}

// watch reports a loss, if the view in which we do not lead has settled.
func (l *Lock) watch(ctx context.Context) {
	var wrong time.Time
	for l.pause(ctx) == nil && l.ended() == nil {
		why := l.trouble()
		switch {
		case why == nil:
			wrong = time.Time{}
		case wrong.IsZero():
			wrong = time.Now()
		case time.Since(wrong) >= settling:
			l.end(why)
			l.lost <- why
		}
	}
}

// trouble returns why we must not lead in the present view, or nil.
func (l *Lock) trouble() error {
	v := l.view()
	if few := v.enough(l.settings.least); few != nil {
		return locks.LostError(few.Error())
	}
	if v.first().name != l.id {
		return locks.LostError("another member comes before us")
	}
	return nil
}

// advertise changes what we publish, and waits until another member may know it.
func (l *Lock) advertise(change func(*card)) {
	l.mu.Lock()
	change(&l.card)
	n := l.node
	l.mu.Unlock()
	if n != nil {
		_ = n.list.UpdateNode(advertising) // it is repeated by push and pull
	}
}

// publish returns our metadata.
func (l *Lock) publish() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.card
	c.Since = l.timeline.since()
	return c.encode()
}
