package guard

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// said takes all orders from the queue. It returns their kinds.
func (o *orders) said() (kinds string, all []frame) {
	for f, ok := o.take(); ok; f, ok = o.take() {
		kinds, all = kinds+string(f.kind), append(all, f)
	}
	return kinds, all
}

// Orders about the job do not wait for those about health checks. The latter stay in order,
// because a kill is for the check that was started before.
func TestOrdersOfTheJobFirst(t *testing.T) {
	t.Parallel()
	o := newOrders()
	for _, kind := range "ABbDsK" {
		o.put(frame{kind: byte(kind)})
	}
	if got, _ := o.said(); got != "DsKABb" {
		t.Errorf("got %s", got)
	}
}

// put does not wait for a guard that reads nothing, and the queue stays short: it has the
// last deadline, and each signal once, in the order of their last puts.
func TestOrdersStayFew(t *testing.T) {
	t.Parallel()
	j := newJob(&Client{}, proc.OnDeath{}, 0)
	for n := range 100 {
		j.Extend(clock.Instant(n))
		for sig := range int64(64) {
			j.order(number(kindSignal, sig))
			j.order(number(kindStop, sig))
		}
		j.order(frame{kind: kindKill})
		j.order(number(kindSignal, 18))
	}
	kinds, all := j.orders.said()
	if len(all) != 2*64+2 || kinds[len(kinds)-1] != kindSignal {
		t.Errorf("%d are left: %s", len(all), kinds)
	}
	for i, f := range all {
		n, _ := f.number()
		if f.kind == kindDeadline && n != 99 || i == len(all)-1 && n != 18 {
			t.Errorf("frame %d is %q with %d", i, f.kind, n)
		}
	}
}

// next does not wait when the guard is dead.
func TestOrdersOver(t *testing.T) {
	t.Parallel()
	o, over, got := newOrders(), make(chan struct{}), make(chan bool)
	go func() {
		for {
			_, ok := o.next(over)
			got <- ok
			if !ok {
				return
			}
		}
	}()
	o.put(frame{kind: kindKill})
	if !<-got {
		t.Error("next returned an order")
	}
	close(over)
	if <-got {
		t.Error("next returned no order")
	}
}
