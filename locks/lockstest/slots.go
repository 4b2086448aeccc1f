package lockstest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/slots"
)

// RunSlots tests locks with several slots over a backend that passes Run. It needs the
// abilities to inspect and to keep a record.
func RunSlots(t *testing.T, c Config) {
	if c.TTL > 0 { // several must hold at once, over many steps, on a busy machine
		c.TTL = max(c.TTL, 4*time.Second)
	}
	runAll(t, c, slotTests())
}

func slotTests() []test {
	return []test{
		{name: "AtMostN", run: func(e *env) { atMost(e, 3) }},
		{name: "AtMostTheSmallestN", recipe: true, run: func(e *env) { atMost(e, 2, 3, 5) }},
		{name: "TryAtOnce", run: tryAtOnce},
		{name: "TrySlotsThatAreHeld", recipe: true, run: trySlotsThatAreHeld},
		{name: "ManyAreHeld", recipe: true, run: manyAreHeld},
		{name: "NIsLowered", recipe: true, run: nIsLowered},
		{name: "NIsRaised", recipe: true, run: nIsRaised},
		{name: "RecordIsGarbage", recipe: true, run: recordIsGarbage},
		{name: "RecordNamesTheTurnstile", recipe: true, run: recordNamesTheTurnstile},
		{name: "CrashWithoutRecord", recipe: true, run: crashWithoutRecord},
		{name: "FrozenAtTheTurnstile", recipe: true, run: frozenAtTheTurnstile, needs: []need{needTTL}},
		{name: "RecordForgets", recipe: true, run: recordForgets},
		{name: "RecordFails", recipe: true, run: recordFails},
		{name: "TurnstileIsLost", run: turnstileIsLost, needs: []need{needPlaces, needEvict}},
		{name: "SlotIsEvicted", run: slotIsEvicted, needs: []need{needEvict}},
	}
}

// slotted returns an Opener of locks with n slots. Each handle passes through wrap if
// that is not nil.
func slotted(open locks.Opener, n int, wrap func(locks.Lock, locks.Options) locks.Lock) locks.Opener {
	return func(ctx context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
		return slots.Open(ctx, n, func(ctx context.Context, o locks.Options) (locks.Lock, error) {
			l, err := open(ctx, u, o)
			if err == nil && wrap != nil {
				l = wrap(l, o)
			}
			return l, err
		}, o)
	}
}

// of returns the environment of contenders for n slots.
func (e *env) of(n int) *env {
	many := *e
	many.c.Open, many.slots = slotted(e.c.Open, n, nil), n
	many.c.Places = e.c.TTL > 0 // the turnstile is held during the wait for a slot
	return &many
}

// contending opens a contender with n slots.
func (e *env) contending(n int, holder string) *contender {
	e.Helper()
	return e.of(n).open(holder)
}

// slotHeld gets a slot at once.
func (e *env) slotHeld(n int, holder string) *contender {
	e.Helper()
	k := e.contending(n, holder)
	if err := k.tryRenewing(); err != nil {
		e.Fatalf("%s: acquire: %v", holder, err)
	}
	k.keep()
	return k
}

// tryRenewing makes one attempt to get a slot at once. It takes several requests, and
// renews meanwhile what they get.
func (k *contender) tryRenewing() error {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	if k.e.c.TTL > 0 {
		wg.Go(func() { _ = k.renewUntil(ctx) })
	}
	_, err := k.try()
	cancel()
	wg.Wait()
	return err
}

// soon is how soon a slot that has become free is another contender's.
func (e *env) soon() time.Duration { return 5*e.prompt + 2*e.c.Polling }

func (k *contender) slot() int { return locks.SlotOf(k.bare) }

// tryAtOnce makes as many contenders as there are slots try at the same moment. They must
// not give up because others are at the turnstile.
func tryAtOnce(e *env) {
	const n = 3
	var wg sync.WaitGroup
	all := make([]*contender, n)
	for i := range all {
		all[i] = e.contending(n, fmt.Sprint("contender ", i))
		wg.Go(func() {
			if err := all[i].tryRenewing(); err != nil {
				e.Errorf("contender %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	taken := map[int]bool{}
	for _, k := range all {
		taken[k.slot()] = true
		k.release()
	}
	if len(taken) != n || taken[0] {
		e.Errorf("the contenders have the slots %v", taken)
	}
}

// trySlotsThatAreHeld checks that a refused contender learns of a holder, even while
// another waits at the turnstile.
func trySlotsThatAreHeld(e *env) {
	a, b := e.slotHeld(2, "a"), e.slotHeld(2, "b")
	check := func(who string) {
		if st := e.contending(2, who).refused(); !e.c.Anonymous && st.Holder != "a" && st.Holder != "b" {
			e.Errorf("%s is refused with the holder %q", who, st.Holder)
		}
	}
	check("c")
	waiter := e.contending(2, "waiter").campaign()
	waiter.queued()
	check("d")
	b.release()
	waiter.won(e.soon())
	if got := waiter.k.slot(); got != 2 {
		e.Errorf("the waiter has slot %d; want 2", got)
	}
	waiter.k.release()
	a.release()
	e.of(2).free()
}

// stays checks that a campaign continues for a while.
func (c *campaign) stays() {
	c.k.e.Helper()
	pause(c.k.e.wakes + c.k.e.c.Polling/2)
	if !c.pending() {
		c.k.e.Fatalf("%s no longer waits: %+v, %v", c.k.o.Holder, c.grant, c.err)
	}
}

// manyAreHeld makes a contender wait for more holders than it waits for at a time. While
// nothing changes it must make no new handles, each of which may have a thread that
// cannot be ended. It must notice the release of one that it does not wait for.
func manyAreHeld(e *env) {
	const n = 10
	var holders []*contender
	for i := range n {
		holders = append(holders, e.slotHeld(n, fmt.Sprint("holder ", i)))
	}
	var bids atomic.Int64
	watched := *e
	watched.c.Open = slotted(e.c.Open, n, func(l locks.Lock, o locks.Options) locks.Lock {
		if o.Waiting != nil { // not only to inspect
			bids.Add(1)
		}
		return l
	})
	watched.c.Places = e.c.TTL > 0
	w := watched.open("waiter").campaign()
	w.queued()
	pause(looks)
	before := bids.Load()
	pause(looks)
	if now := bids.Load(); now != before && e.c.Polling == 0 {
		e.Errorf("while nothing changes, %d handles to wait with become %d", before, now)
	}
	holders[n-1].release()
	w.won(e.soon() + looks)
}

// looks is how long a contender may take until it checks all slots again.
const looks = 5 * time.Second

func nIsLowered(e *env) {
	var all []*contender
	for i := range 5 {
		all = append(all, e.slotHeld(5, fmt.Sprint("old ", i)))
	}
	c := e.contending(3, "new").campaign()
	c.queued()
	for i := range 2 {
		all[i].release()
		c.stays()
	}
	all[2].release()
	c.won(e.soon())
	c.k.keep()
	if got := c.k.slot(); got > 3 {
		e.Errorf("slot %d of 3", got)
	}
	e.contending(5, "old again").refused()
	for _, k := range append(all[3:], c.k) {
		k.release()
	}
}

func nIsRaised(e *env) {
	old := []*contender{e.slotHeld(3, "old 0"), e.slotHeld(3, "old 1"), e.slotHeld(3, "old 2")}
	c := e.contending(5, "new 0").campaign()
	c.queued()
	c.stays()
	old[1].release()
	c.won(e.soon())
	c.k.keep()
	e.contending(5, "new 1").refused()
	old[0].release()
	held := []*contender{c.k, e.slotHeld(5, "new 1")}
	e.contending(5, "new 2").refused()
	old[2].release()
	for i := range 3 {
		held = append(held, e.slotHeld(5, fmt.Sprint("new ", i+2)))
	}
	e.contending(5, "new 5").refused()
	for _, k := range held {
		k.release()
	}
}

// number opens one of the locks that a lock with slots is made of.
func (e *env) number(number int, holder string) *contender {
	e.Helper()
	o := e.options(holder)
	o.Name = locks.SlotName(o.Name, number)
	return e.openWith(e.u, o)
}

// overwrite writes into the record, as an operator might.
func (e *env) overwrite(text string) {
	e.Helper()
	gate := e.number(0, "operator")
	gate.hold()
	if err := gate.bare.(locks.Recorder).SetRecord(e.patient(), []byte(text)); err != nil {
		e.Fatal(err)
	}
	gate.release()
}

// recordNamesTheTurnstile: the record says that 0 is a slot. A contender that reads this
// must not wait for itself.
func recordNamesTheTurnstile(e *env) {
	e.overwrite(`{"v":1,"slots":{"0":{"n":3,"token":1}}}`)
	e.slotHeld(3, "a").release()
}

// recordIsGarbage: nobody knows the holders' N, so a newcomer waits for all.
func recordIsGarbage(e *env) {
	a, b := e.slotHeld(3, "a"), e.slotHeld(3, "b")
	e.overwrite("\x1b[2J garbage")
	c := e.contending(3, "c").campaign()
	c.queued()
	a.release()
	c.stays()
	b.release()
	c.won(e.soon())
	c.k.keep()
	d := e.slotHeld(3, "d") // the record is valid again
	d.release()
	c.k.release()
}

// crashWithoutRecord is a contender that dies with a slot before the record says so.
// Until that slot is free others wait, and then all slots are available.
func crashWithoutRecord(e *env) {
	a := e.slotHeld(2, "a")
	dead := e.number(2, "dead")
	dead.hold()
	c := e.contending(2, "c").campaign()
	c.queued()
	if e.c.TTL == 0 {
		_ = dead.Close()
		if e.c.Crash == nil {
			dead.release()
		}
	}
	c.won(e.c.TTL + e.late() + e.soon())
	c.k.release()
	a.release()
	e.of(2).free()
}

// turnstileIsLost: the first waiter loses its turnstile, and with it its place. The next
// waiter takes over.
func turnstileIsLost(e *env) {
	a := e.slotHeld(1, "a")
	c := e.contending(1, "c").campaign()
	c.queued()
	e.operates(func() { e.c.Evict(e.TB, e.u, locks.SlotName(lockName, 0)) })
	c.ended(e.c.TTL + e.late())
	if c.err == nil {
		e.Errorf("got %+v without the turnstile", c.grant)
	}
	d := e.contending(1, "d").campaign()
	d.queued()
	a.release()
	d.won(e.soon())
	d.k.release()
	e.of(1).free()
}

// slotIsEvicted: an operator deletes a slot, and its holder learns of that.
func slotIsEvicted(e *env) {
	a, b := e.slotHeld(2, "a"), e.contending(2, "b")
	if err := b.tryRenewing(); err != nil {
		e.Fatal(err)
	}
	stop := b.keep()
	c := e.contending(2, "c").campaign()
	c.queued()
	e.operates(func() { e.c.Evict(e.TB, e.u, locks.SlotName(lockName, b.slot())) })
	c.won(e.soon())
	if e.c.Unwatched {
		e.eventually(e.c.TTL, "b learns of its loss", func() bool { return errors.Is(b.renew(), locks.ErrLost) })
	} else {
		select {
		case err := <-b.Lost():
			if !errors.Is(err, locks.ErrLost) {
				e.Errorf("Lost delivers %v", err)
			}
		case <-time.After(e.soon()):
			e.Error("b does not learn of its loss")
		}
	}
	_ = stop()
	c.k.release()
	a.release()
}
