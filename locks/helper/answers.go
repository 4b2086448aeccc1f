package helper

import (
	"context"
	"slices"
	"strconv"

	"github.com/leaderrun/leaderrun/locks"
)

// An answer is the helper's end of a method: it calls the backend and sets the result. It
// is never called concurrently with itself.
type answer struct {
	has  func(locks.Lock) bool // whether a backend has the method; nil if each has it
	call func(context.Context, *call) error
}

// answers returns the answer to each method, by name.
func answers() map[string]answer {
	return map[string]answer{
		methodOpen:    {call: answerOpen},
		methodAcquire: {call: answerAcquire},
		methodRelease: of(answerRelease),
		methodInspect: of(answerInspect),
		methodRecord:  of(answerRecord),
		methodList:    of(answerList),
		methodWatch:   of(answerWatch),
		methodProbe:   of(answerProbe),

		methodRenew:  of(func(ctx context.Context, l locks.Lock, _ *call) error { return l.Renew(ctx) }),
		methodBreak:  of(func(ctx context.Context, b locks.Breaker, c *call) error { return b.Break(ctx, c.Token) }),
		methodForget: of(func(ctx context.Context, f locks.Forgetter, _ *call) error { return f.Forget(ctx) }),
		methodSetRecord: of(func(ctx context.Context, r locks.Recorder, c *call) error {
			return r.SetRecord(ctx, []byte(c.Text))
		}),
		methodAsk: of(func(ctx context.Context, a locks.Asker, c *call) error {
			return a.Ask(ctx, c.Token, []byte(c.Text))
		}),
	}
}

// of makes the answer for backends that are a T.
func of[T any](ask func(context.Context, T, *call) error) answer {
	return answer{
		has:  func(l locks.Lock) bool { _, ok := l.(T); return ok },
		call: func(ctx context.Context, c *call) error { return ask(ctx, c.handle.lock.(T), c) },
	}
}

// do makes the call of the backend that a request asks for, once the lock is open and no
// other call of the same method is under way. Open itself always runs.
func (s *server) do(ctx context.Context, c *call) error {
	m := s.methods.named(c.Method)
	if m == nil {
		return &locks.UsageError{What: "unknown method " + strconv.Quote(locks.Abbreviate(c.Method))}
	}
	if m.name != methodOpen {
		if err := s.ready(ctx); err != nil {
			return err
		}
		if err := s.turns[m.name].take(ctx); err != nil {
			return err
		}
		defer s.turns[m.name].leave()
	}
	c.handle = s.current()
	a := s.answers[m.name]
	if a.has != nil && !a.has(c.handle.lock) {
		return cannot(string(m.can))
	}
	if err := m.allows(c.request); err != nil {
		return err
	}
	return a.call(ctx, c)
}

// offered returns the abilities that a backend declares and has methods for.
func offered(ctx context.Context, l locks.Lock) ([]locks.Ability, error) {
	able, ok := l.(locks.Able)
	if !ok {
		return nil, nil
	}
	declared, err := able.Abilities(ctx)
	if err != nil {
		return nil, err
	}
	its, has := methods(), answers()
	its = slices.DeleteFunc(its, func(m method) bool { return m.can != "" && !has[m.name].has(l) })
	return its.abilities(declared), nil
}
