package lockstest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// foreign checks that everybody who would change what is not leaderrun's refuses that, says what
// is in the way, and leaves it as it is.
func foreign(e *env) {
	for i, put := range e.c.Foreign {
		name := fmt.Sprint("foreign/", i)
		var now func() string
		e.operates(func() { now = put(e.TB, e.u, name) })
		e.leftAlone(name, now)
	}
}

func (e *env) leftAlone(name string, now func() string) {
	e.Helper()
	before := now()
	calls := map[string]func(k *contender) error{
		"try":     func(k *contender) error { _, err := k.try(); return err },
		"acquire": func(k *contender) error { _, err := k.acquire(e.patient(), false); return err },
	}
	if e.can(locks.CanInspect) {
		calls["inspect"] = func(k *contender) error { _, err := k.inspect(e.patient()); return err }
	}
	if e.can(locks.CanForget) {
		calls["forget"] = func(k *contender) error { return k.forget(e.patient()) }
	}
	if e.can(locks.CanBreak) {
		calls["break"] = func(k *contender) error { return k.breakTerm(e.patient(), 1) }
	}
	for what, call := range calls {
		k := e.openNamed(e.u, name)
		err := call(k)
		e.harmless(err)
		if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), "was not made by leaderrun") || !strings.Contains(err.Error(), "nothing of it was changed; choose another ") {
			e.Errorf("%s, %s: got %v; want ErrUsage that names what is in the way", name, what, err)
		}
		_ = k.giveUp()
	}
	if e.can(locks.CanList) {
		for _, one := range e.openNamed(e.u, name).lists(nil).all {
			if one.Name == name {
				e.Errorf("%s is listed: %+v", name, one)
			}
		}
	}
	if after := now(); after != before {
		e.Errorf("%s was %s, and is %s", name, before, after)
	}
}
