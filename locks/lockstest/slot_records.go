package lockstest

import (
	"context"
	"errors"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// A turnstile is the lock of one contender with all that slots need of it, and with its
// own way to write.
type turnstile struct {
	locks.Lock
	write func(context.Context, locks.Recorder, []byte) error
}

func (l *turnstile) Abilities(ctx context.Context) ([]locks.Ability, error) {
	return l.Lock.(locks.Able).Abilities(ctx)
}

func (l *turnstile) Inspect(ctx context.Context) (locks.State, error) {
	return l.Lock.(locks.Inspector).Inspect(ctx)
}

func (l *turnstile) Record(ctx context.Context) ([]byte, error) {
	return l.Lock.(locks.Recorder).Record(ctx)
}

func (l *turnstile) SetRecord(ctx context.Context, text []byte) error {
	return l.write(ctx, l.Lock.(locks.Recorder), text)
}

// writing returns the environment of contenders for n slots that write the record with
// the given function.
func (e *env) writing(n int, write func(context.Context, locks.Recorder, []byte) error) *env {
	many := e.of(n)
	many.c.Open = slotted(e.c.Open, n, func(l locks.Lock, o locks.Options) locks.Lock {
		if _, number := locks.CutSlot(o.Name); number == 0 {
			return &turnstile{l, write}
		}
		return l
	})
	return many
}

// frozenAtTheTurnstile freezes a contender with a slot before it writes the record, and
// others take all slots when its lease has ended. When it continues it has no slot.
func frozenAtTheTurnstile(e *env) {
	reached, resume := make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(resume) })
	e.Cleanup(goOn)
	k := e.writing(2, func(_ context.Context, r locks.Recorder, text []byte) error {
		close(reached)
		<-resume
		ctx, cancel := context.WithTimeout(context.Background(), e.patience) // the contender's own context has ended
		defer cancel()
		return r.SetRecord(ctx, text)
	}).open("frozen")
	c := k.campaignRenewing(false)
	<-reached
	a := e.contending(2, "a").campaign()
	a.won(e.c.TTL + e.late() + e.soon())
	a.k.keep()
	b := e.contending(2, "b").campaign()
	b.won(e.c.TTL + e.late() + e.soon())
	b.k.keep()
	goOn()
	c.ended(e.soon())
	if !errors.Is(c.err, locks.ErrLost) {
		e.Errorf("the frozen contender got %+v, %v; want ErrLost", c.grant, c.err)
	}
	if got := k.slot(); got != 0 {
		e.Errorf("the frozen contender reports slot %d", got)
	}
	e.contending(2, "d").refused()
	a.k.release()
	b.k.release()
	e.of(2).free()
}

// recordFails checks that a contender that cannot write the record has nothing, and
// leaves nothing behind.
func recordFails(e *env) {
	k := e.writing(2, func(context.Context, locks.Recorder, []byte) error { return locks.ErrUnavailable }).open("k")
	for _, try := range []bool{true, false} {
		if g, err := k.Acquire(e.patient(), try); !errors.Is(err, locks.ErrUnavailable) {
			e.Errorf("got %+v, %v; want ErrUnavailable", g, err)
		}
		if got := k.slot(); got != 0 {
			e.Errorf("it reports slot %d", got)
		}
	}
	e.of(1).free()
}

// recordForgets checks that the record has only slots that are held, so that nobody looks
// at more.
func recordForgets(e *env) {
	a, b, c := e.slotHeld(3, "a"), e.slotHeld(3, "b"), e.slotHeld(3, "c")
	b.release()
	c.release()
	d := e.slotHeld(3, "d")
	text, err := e.number(0, "reader").bare.(locks.Recorder).Record(e.patient())
	if err != nil {
		e.Fatal(err)
	}
	record, err := ledger.Read(text)
	if err != nil {
		e.Fatal(err)
	}
	if len(record.Slots) != 2 || record.Slots[1].Token != a.grant.Token || record.Slots[2].Token != d.grant.Token {
		e.Errorf("the record has the slots %v", record.Slots)
	}
	a.release()
	d.release()
}
