package helper

import (
	"context"
	"errors"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// A method is all there is about one kind of request, for both ends. A new ability is an entry
// in methods, the fields of its lines in wire.go, and a method of Lock.
type method struct {
	name string        // on the wire
	can  locks.Ability // that the method needs; "" if each helper has the method
	more locks.Ability // that promises more of its result; "" if none

	// long reports whether requests have a long field. Of all methods with one, one request
	// is under way at a time, even counting those that were given up. See maxPending.
	long bool

	// take is the core's end: it returns an error for an invalid result, and keeps what
	// the session needs. If it is nil, there is no result.
	take func(*pending, *result) error

	answer
}

// An answer is the helper's end of a method. It trusts no request.
type answer struct {
	// has reports whether a backend has the method; nil if each has it.
	has func(locks.Lock) bool
	// serve calls the backend and sets the result. It is never called concurrently with
	// itself.
	serve func(context.Context, *call) error
}

// of makes the answer for backends that are a T.
func of[T any](ask func(context.Context, T, *call) error) answer {
	return answer{
		has: func(l locks.Lock) bool { _, ok := l.(T); return ok },
		serve: func(ctx context.Context, c *call) error {
			if b, ok := c.server.lock.(T); ok {
				return ask(ctx, b, c)
			}
			return cannot(c.method.can)
		},
	}
}

// methods returns the table, by name.
func methods() map[string]*method {
	all := map[string]*method{}
	for _, m := range []method{
		{name: methodOpen, take: takeOpened, answer: answer{serve: serveOpen}},
		{name: methodAcquire, take: takeGrant, answer: answer{serve: serveAcquire}},
		{name: methodRenew, answer: answer{serve: serveRenew}},
		{name: methodRelease, answer: answer{serve: serveRelease}},
		{name: methodInspect, can: locks.CanInspect, more: locks.CanQueue, take: takeState, answer: of(serveInspect)},
		{name: methodRecord, can: locks.CanRecord, take: takeRecord, answer: of(serveRecord)},
		{name: methodSetRecord, can: locks.CanRecord, long: true, answer: of(serveSetRecord)},
		{name: methodAsk, can: locks.CanAsk, long: true, answer: of(serveAsk)},
		{name: methodList, can: locks.CanList, long: true, take: takeList, answer: of(serveList)},
		{name: methodWatch, can: locks.CanWatch, take: takeEnd, answer: of(serveWatch)},
		{name: methodBreak, can: locks.CanBreak, answer: of(serveBreak)},
		{name: methodProbe, can: locks.CanProbe, take: takeServers, answer: of(serveProbe)},
		{name: methodForget, can: locks.CanForget, answer: of(serveForget)},
	} {
		all[m.name] = &m
	}
	return all
}

// offered returns those of the declared abilities that have methods and, if backend is not nil,
// methods that it has.
func offered(declared []locks.Ability, backend locks.Lock) []locks.Ability {
	all := methods()
	return slices.DeleteFunc(slices.Clone(declared), func(a locks.Ability) bool {
		for _, m := range all {
			if a != "" && (m.can == a || m.more == a) && (backend == nil || m.has(backend)) {
				return false
			}
		}
		return true
	})
}

func cannot(what locks.Ability) error {
	return &locks.UsageError{What: "this backend cannot " + string(what)}
}

// Renew implements locks.Lock.
func (l *Lock) Renew(ctx context.Context) error {
	_, err := l.call(ctx, request{Method: methodRenew})
	return err
}

// ask makes a call of a method that needs an ability.
func (l *Lock) ask(ctx context.Context, r request) (*pending, error) {
	if _, err := l.able(ctx, r.Method); err != nil {
		return new(pending), err
	}
	return l.call(ctx, r)
}

// able returns the session to use, if its helper has declared the ability that a method needs.
// A helper without it may not even answer.
func (l *Lock) able(ctx context.Context, method string) (*session, error) {
	s, err := l.opened(ctx)
	if can := s.methods[method].can; err == nil && !slices.Contains(s.can, can) {
		err = cannot(can)
	}
	return s, err
}

// Abilities implements locks.Able.
func (l *Lock) Abilities(ctx context.Context) ([]locks.Ability, error) {
	s, err := l.opened(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Clone(s.can), nil
}

// Record implements locks.Recorder.
func (l *Lock) Record(ctx context.Context) ([]byte, error) {
	p, err := l.ask(ctx, request{Method: methodRecord})
	return bytesOf(p.result.Record), err
}

func takeRecord(_ *pending, r *result) error {
	if r.Record != nil && len(*r.Record) > locks.MaxRecord {
		return errors.New("a record that is too long")
	}
	return nil
}

func serveRecord(ctx context.Context, b locks.Recorder, c *call) error {
	text, err := b.Record(ctx)
	c.result.Record = fitRecord(text)
	return err
}

// SetRecord implements locks.Recorder.
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	return l.askText(ctx, request{Method: methodSetRecord, Text: string(text)})
}

func serveSetRecord(ctx context.Context, b locks.Recorder, c *call) error {
	if err := locks.CheckText([]byte(c.Text)); err != nil {
		return err
	}
	return b.SetRecord(ctx, []byte(c.Text))
}

// Ask implements locks.Asker.
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	return l.askText(ctx, request{Method: methodAsk, Token: token, Text: string(text)})
}

func serveAsk(ctx context.Context, b locks.Asker, c *call) error {
	if err := locks.CheckText([]byte(c.Text)); err != nil {
		return err
	}
	return b.Ask(ctx, c.Token, []byte(c.Text))
}

// askText is ask for a request with a text, which is checked before it becomes JSON, in which
// nothing is invalid.
func (l *Lock) askText(ctx context.Context, r request) error {
	err := locks.CheckText([]byte(r.Text))
	if err == nil {
		_, err = l.ask(ctx, r)
	}
	return err
}

// Asked implements locks.Asker.
func (l *Lock) Asked() <-chan []byte { return l.asked }

// Break implements locks.Breaker.
func (l *Lock) Break(ctx context.Context, token uint64) error {
	_, err := l.ask(ctx, request{Method: methodBreak, Token: token})
	return err
}

func serveBreak(ctx context.Context, b locks.Breaker, c *call) error { return b.Break(ctx, c.Token) }

// Forget implements locks.Forgetter.
func (l *Lock) Forget(ctx context.Context) error {
	_, err := l.ask(ctx, request{Method: methodForget})
	return err
}

func serveForget(ctx context.Context, b locks.Forgetter, _ *call) error { return b.Forget(ctx) }

// bytesOf returns a text as bytes, or nil if there is none.
func bytesOf(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}

var (
	_ locks.Able      = (*Lock)(nil)
	_ locks.Located   = (*Lock)(nil)
	_ locks.Inspector = (*Lock)(nil)
	_ locks.Recorder  = (*Lock)(nil)
	_ locks.Asker     = (*Lock)(nil)
	_ locks.Lister    = (*Lock)(nil)
	_ locks.Watcher   = (*Lock)(nil)
	_ locks.Breaker   = (*Lock)(nil)
	_ locks.Prober    = (*Lock)(nil)
	_ locks.Forgetter = (*Lock)(nil)
)
