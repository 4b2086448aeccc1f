package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

func forgetCommand(e *env.Env) *options.Command {
	c := define(e, "forget", "delete the records of locks that nobody needs any more", func(p *operator) ([]options.Option, func(*options.Invocation) error) {
		var yes bool
		return []options.Option{yesOption(&yes, "Which lock")},
			func(r *options.Invocation) error { return p.forget(r.Args, yes) }
	})
	c.Args, c.Early = "NAME...", math.MaxInt // otherwise options after a name would be names
	return c
}

// A forgetting is one run of leaderrun forget.
type forgetting struct {
	*visit
	names  []string               // of the locks still to be forgotten
	kept   map[string][]view.Lock // for each name: the listed locks, namely that lock and its slots
	status int                    // the exit status for the first error
}

// forget shows the records of locks, asks for confirmation, and deletes them. If a lock
// cannot be forgotten, it says why and goes on with the others, like rm(1).
func (p *operator) forget(names []string, yes bool) error {
	if err := checkForgotten(names); err != nil {
		return err
	}
	if !yes && !canAsk() {
		return output.WithHint(locks.Usagef("cannot ask for confirmation to forget: no terminal"), "add --yes to forget without asking")
	}
	v, err := p.visit("leaderrun forget", locks.CanForget, locks.CanList) // only a list has all slots
	if err != nil {
		return err
	}
	defer v.close()
	ctx, f := context.Background(), &forgetting{visit: v, names: slices.Compact(slices.Sorted(slices.Values(names)))}
	if err := f.look(ctx); err != nil {
		return output.Explain(p.opt.Lock, err)
	}
	if shown := f.shown(); !yes && len(shown) > 0 {
		if err := f.confirm(shown); err != nil {
			return err
		}
		if err := f.look(ctx); err != nil { // the user may have taken long to answer
			return output.Explain(p.opt.Lock, err)
		}
	}
	if err := f.all(ctx); err != nil {
		return err
	}
	return output.ExitWith(f.status)
}

// checkForgotten returns an error if a name is invalid. It comes before anything else.
func checkForgotten(names []string) error {
	if len(names) == 0 {
		return output.WithHint(locks.Usagef("no lock is named"), "leaderrun forget NAME...")
	}
	for _, name := range names {
		if err := locks.CheckSlotName(name); err != nil {
			return err
		}
		if base, number := locks.CutSlot(name); number == 0 {
			return output.WithHint(locks.Usagef("lock name %q: slots count from 1", name), "to forget all slots: leaderrun forget "+base)
		}
	}
	return nil
}

// look finds the records, and reports an error for each lock that is held. The backend
// would report it as well, but for a lock with slots only after deleting the free ones.
func (f *forgetting) look(ctx context.Context) error {
	f.kept = map[string][]view.Lock{}
	for _, name := range f.names {
		f.kept[name] = nil
	}
	all, err := f.Kept(ctx, func(name string) bool { return len(f.meant(name)) > 0 })
	if err != nil {
		return err
	}
	held := map[string]bool{}
	for _, l := range all {
		for _, name := range f.meant(l.Name) {
			f.kept[name] = append(f.kept[name], l)
			if l.Is() == view.Held && !held[name] {
				held[name] = true
				f.failed(name, ofSlot(name, l.Name, &locks.HeldError{Status: l.Status}))
			}
		}
	}
	f.names = slices.DeleteFunc(f.names, func(name string) bool { return held[name] })
	return nil
}

// meant returns which of the user's names mean a listed lock: its own name, and the name of
// the lock that it is a slot of.
func (f *forgetting) meant(listed string) []string {
	base, _ := locks.CutSlot(listed)
	return slices.DeleteFunc(slices.Compact([]string{base, listed}), func(name string) bool {
		_, is := f.kept[name]
		return !is
	})
}

// shown returns the records to forget as users know them, which is without slot 0.
func (f *forgetting) shown() (all []view.Lock) {
	for _, name := range f.names {
		before := len(all)
		for _, l := range f.kept[name] {
			if _, number := locks.CutSlot(l.Name); number != 0 {
				all = append(all, l)
			}
		}
		if len(all) == before && len(f.kept[name]) > 0 {
			all = append(all, view.Lock{Name: name})
		}
	}
	return all
}

// confirm shows the records and asks for confirmation.
func (f *forgetting) confirm(shown []view.Lock) error {
	var text strings.Builder
	if len(shown) == 1 {
		_ = f.style(false).Detail(&text, shown, f.where()) // a Builder accepts all
	} else {
		_ = f.style(false).Table(&text, shown)
		text.WriteString("in " + f.where() + "\n")
	}
	text.WriteString("If you forget this, jobs with --once-per may run again in the same window.\n")
	if !f.tokensRise() {
		text.WriteString("Fencing tokens may start over, and stores that have seen greater ones will refuse them.\n")
	}
	f.env.Console.Drain() // errors about locks that are held come first
	return ask(text.String()+"Forget it? [y/N] ", "nothing was forgotten")
}

// tokensRise reports whether the backend's tokens are known to rise even after a lock was
// forgotten.
func (f *forgetting) tokensRise() bool {
	backend, err := locks.Parse(f.opt.Backend)
	return err == nil && known.Find(backend.Scheme) != nil
}

// all forgets one lock after the other. It gives up if the backend does not respond at all,
// because otherwise each of thousands of locks would wait for a response.
func (f *forgetting) all(ctx context.Context) error {
	for i, name := range f.names {
		err := f.one(ctx, name)
		rest := len(f.names) - i - 1
		switch {
		case errors.Is(err, locks.ErrUnavailable) && rest > 0 && f.isDown(ctx):
			f.failed(name, fmt.Errorf("%w; %d more were not tried", err, rest))
			return nil
		case err != nil:
			f.failed(name, err)
			continue
		}
		said := "lock %q is forgotten"
		if len(f.kept[name]) == 0 {
			said = "there is no record of lock %q"
		}
		if err := f.env.Say(said, name); err != nil {
			return err
		}
	}
	return nil
}

// one forgets a lock, even one that is not listed, because there may be a request to its
// holder. It begins with the slots, from the last to the first, and then deletes their
// turnstile. So the turnstile's record is not deleted while a slot is held: a run that
// takes a slot meanwhile takes the first one.
func (f *forgetting) one(ctx context.Context, name string) error {
	all := f.kept[name]
	if len(all) == 0 || all[0].Name != name {
		all = slices.Concat([]view.Lock{{Name: name}}, all)
	}
	for _, l := range slices.Backward(all) {
		if err := f.delete(ctx, l.Name); err != nil {
			return ofSlot(name, l.Name, err)
		}
	}
	return nil
}

func (f *forgetting) delete(ctx context.Context, lock string) error {
	v, err := f.of(lock).visit("leaderrun forget", locks.CanForget)
	if err != nil {
		return err
	}
	defer v.close()
	forget := v.Handle.(locks.Forgetter).Forget
	err = v.Request(ctx, forget)
	if held, ok := errors.AsType[*locks.HeldError](err); ok && held.Status.Confirm > 0 {
		v.Timeout += min(held.Status.Confirm, longestConfirm)
		err = v.Request(ctx, forget) // the holder seems to be gone
	}
	return err
}

// longestConfirm bounds how long we watch a lock whose holder seems to be gone.
const longestConfirm = time.Hour

// isDown reports whether the backend does not respond at all.
func (f *forgetting) isDown(ctx context.Context) bool {
	_, err := f.Kept(ctx, func(string) bool { return false })
	return err != nil
}

// ofSlot adds the number of a slot to an error, if the user named its lock and not the slot.
func ofSlot(name, listed string, err error) error {
	if _, number := locks.CutSlot(listed); number > 0 && listed != name {
		return fmt.Errorf("slot %d: %w", number, err)
	}
	return err
}

// failed prints why a lock was not forgotten. The first such error is the exit status.
func (f *forgetting) failed(name string, err error) {
	if errors.Is(err, locks.ErrHeld) {
		err = fmt.Errorf("lock %q was not forgotten: %w", name, err)
	} else {
		err = output.Explain(name, err)
	}
	f.env.Console.Fail(err)
	f.status = cmp.Or(f.status, output.Status(err))
}
