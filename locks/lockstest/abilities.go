package lockstest

import (
	"context"
	"errors"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// able returns the need for an ability.
func able(a locks.Ability) need {
	return need{"the ability " + string(a), func(c Config) bool { return slices.Contains(c.Abilities, a) }}
}

// abilities checks that a handle declares exactly the abilities of the Config, at each
// moment of its life, and has their methods.
func abilities(e *env) {
	k := e.open("a")
	k.declares("a new handle")
	k.hold()
	k.declares("a holder")
	e.open("b").declares("a handle on a held lock")
	k.release()
	e.free()
	has := map[locks.Ability]bool{}
	_, has[locks.CanInspect] = k.bare.(locks.Inspector)
	_, has[locks.CanQueue] = k.bare.(locks.Inspector)
	_, has[locks.CanRecord] = k.bare.(locks.Recorder)
	_, has[locks.CanAsk] = k.bare.(locks.Asker)
	_, has[locks.CanList] = k.bare.(locks.Lister)
	_, has[locks.CanWatch] = k.bare.(locks.Watcher)
	_, has[locks.CanBreak] = k.bare.(locks.Breaker)
	_, has[locks.CanProbe] = k.bare.(locks.Prober)
	_, has[locks.CanForget] = k.bare.(locks.Forgetter)
	for _, a := range e.c.Abilities {
		if !has[a] {
			e.Errorf("the ability %s is declared, but its methods are missing", a)
		}
	}
}

func (k *contender) declares(who string) {
	k.e.Helper()
	got, err := k.abilities(k.e.patient())
	if err != nil {
		k.e.Fatalf("%s: Abilities: %v", who, err)
	}
	want := slices.Clone(k.e.c.Abilities)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		k.e.Errorf("%s declares the abilities %q; Config.Abilities has %q", who, got, want)
	}
}

// requestsOfAbilities checks that requests end with their context, and that an outage is
// never mistaken for a loss.
func requestsOfAbilities(e *env) {
	a := e.openWith(e.u, e.longer("a"))
	a.hold()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, request := range a.requests() {
		if err := request(ended); !errors.Is(err, context.Canceled) {
			e.Errorf("%s with a context that has ended: got %v; want an error that wraps context.Canceled", name, err)
		}
	}
	if e.c.Cut != nil {
		heal := e.sever(e.u, CutAll)
		for name, request := range a.requests() {
			if name == "Watch" {
				continue // it may begin to watch later
			}
			ctx, cancel := context.WithTimeout(context.Background(), e.prompt/10) // all of them must fit into the lease
			err := request(ctx)
			ended := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errSilent) // a probe may report that in time
			if !ended || isLost(err) {
				e.Errorf("%s during a cut: got %v; want an error that wraps context.DeadlineExceeded", name, err)
			}
			cancel()
			if e.Failed() {
				break // one hanging request is enough
			}
		}
		heal()
		e.eventually(e.prompt, "the holder can renew", func() bool { return a.renew() == nil })
	}
	a.release()
}

// abilitiesAfterClose checks that a closed handle has none.
func abilitiesAfterClose(e *env) {
	a := e.open("a")
	a.hold()
	a.release()
	if err := a.Close(); err != nil {
		e.Errorf("close: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
	defer cancel()
	for name, request := range a.requests() {
		if err := request(ctx); err == nil {
			e.Errorf("%s on a closed handle succeeded", name)
		} else {
			e.harmless(err)
		}
	}
	if ctx.Err() != nil {
		e.Errorf("a method of a closed handle has not returned within %v", e.prompt)
	}
}

// requests returns a request for each declared ability.
func (k *contender) requests() map[string]func(context.Context) error {
	all := map[string]func(context.Context) error{}
	for _, a := range k.e.c.Abilities {
		switch a {
		case locks.CanInspect:
			all["Inspect"] = func(ctx context.Context) error { _, err := k.inspect(ctx); return err }
		case locks.CanRecord:
			all["Record"] = func(ctx context.Context) error { _, err := k.record(ctx); return err }
			all["SetRecord"] = func(ctx context.Context) error { return k.setRecord(ctx, "x") }
		case locks.CanAsk:
			all["Ask"] = func(ctx context.Context) error { return k.ask(ctx, k.grant.Token, "x") }
		case locks.CanList:
			all["List"] = func(ctx context.Context) error { _, _, err := k.list(ctx, ""); return err }
		case locks.CanWatch:
			all["Watch"] = func(ctx context.Context) error { _, err := k.watch(ctx, false); return err }
		case locks.CanBreak:
			all["Break"] = func(ctx context.Context) error { return k.breakTerm(ctx, k.grant.Token+1) }
		case locks.CanProbe:
			all["Probe"] = k.probed
		case locks.CanForget:
			all["Forget"] = k.forget
		}
	}
	return all
}

// The methods of the abilities, guarded like those of Lock.

func (k *contender) abilities(ctx context.Context) ([]locks.Ability, error) {
	able, ok := k.bare.(locks.Able)
	if !ok {
		return nil, nil
	}
	got, err := guard(ctx, k.guard, "Abilities", func() ([]locks.Ability, error) { return able.Abilities(ctx) })
	return slices.Clone(got), err
}

func (k *contender) inspect(ctx context.Context) (locks.State, error) {
	return guard(ctx, k.guard, "Inspect", func() (locks.State, error) { return k.bare.(locks.Inspector).Inspect(ctx) })
}

func (k *contender) record(ctx context.Context) ([]byte, error) {
	return guard(ctx, k.guard, "Record", func() ([]byte, error) { return k.bare.(locks.Recorder).Record(ctx) })
}

func (k *contender) setRecord(ctx context.Context, text string) error {
	return k.guard.writes(record, func() error {
		return k.guard.call(ctx, "SetRecord", func() error { return k.bare.(locks.Recorder).SetRecord(ctx, []byte(text)) })
	})
}

func (k *contender) list(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	err = k.guard.call(ctx, "List", func() error {
		got, following, err := k.bare.(locks.Lister).List(ctx, cursor)
		if err == nil {
			page, next = got, following
		}
		return err
	})
	return page, next, err
}

func (k *contender) watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	return guard(ctx, k.guard, "Watch", func() (<-chan struct{}, error) { return k.bare.(locks.Watcher).Watch(ctx, all) })
}

func (k *contender) breakTerm(ctx context.Context, token uint64) error {
	k.e.witness.lapse()
	defer k.e.witness.lapse()
	return k.guard.call(ctx, "Break", func() error { return k.bare.(locks.Breaker).Break(ctx, token) })
}

func (k *contender) probe(ctx context.Context) (locks.Servers, error) {
	return guard(ctx, k.guard, "Probe", func() (locks.Servers, error) { return k.bare.(locks.Prober).Probe(ctx) })
}

func (k *contender) forget(ctx context.Context) error {
	k.e.witness.lapse()
	defer k.e.witness.lapse()
	return k.guard.call(ctx, "Forget", func() error { return k.bare.(locks.Forgetter).Forget(ctx) })
}

func (k *contender) ask(ctx context.Context, token uint64, text string) error {
	return k.guard.call(ctx, "Ask", func() error { return k.bare.(locks.Asker).Ask(ctx, token, []byte(text)) })
}
