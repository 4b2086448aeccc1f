package helper

import (
	"context"
	"errors"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// Abilities implements locks.Able.
func (l *Lock) Abilities(ctx context.Context) ([]locks.Ability, error) {
	s := l.serving().session
	select {
	case <-s.ready:
		return s.abilities()
	case <-ctx.Done():
		return nil, l.over(ctx, methodOpen)
	}
}

// Version returns the version that the helper said it is of, also when it could
// not open the lock. It blocks until the helper has answered, or ctx ends.
func (l *Lock) Version(ctx context.Context) (string, error) {
	s := l.last().session
	select {
	case <-s.ready:
		return s.greeting()
	case <-ctx.Done():
		return "", l.over(ctx, methodOpen)
	}
}

// Inspect implements locks.Inspector. After Release the helper has ended, and
// it is an error.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	p, err := l.exchangeIf(ctx, locks.CanInspect, request{Method: methodInspect})
	if err != nil {
		return locks.State{}, err
	}
	return *p.result.State, nil
}

// Record implements locks.Recorder. After Release the helper has ended, and it
// is an error.
func (l *Lock) Record(ctx context.Context) ([]byte, error) {
	p, err := l.exchangeIf(ctx, locks.CanRecord, request{Method: methodRecord})
	if err != nil || p.result.Record == nil {
		return nil, err
	}
	return []byte(*p.result.Record), nil
}

// SetRecord implements locks.Recorder.
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	err := l.tell(ctx, locks.CanRecord, request{Method: methodSetRecord}, text)
	if err != nil && l.last().session.isReleased() {
		e := l.where
		e.Op, e.Class, e.Err = verb(methodSetRecord), locks.ErrLost, errReleased
		return &e
	}
	return err
}

// Ask implements locks.Asker. After Release the helper has ended, and it is an
// error.
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	return l.tell(ctx, locks.CanAsk, request{Method: methodAsk, Token: token}, text)
}

// Asked implements locks.Asker.
func (l *Lock) Asked() <-chan []byte { return l.asked }

// tell makes a call with a text.
func (l *Lock) tell(ctx context.Context, a locks.Ability, r request, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return err
	}
	r.Text = string(text)
	_, err := l.exchangeIf(ctx, a, r)
	return err
}

// Break implements locks.Breaker. After Release the helper has ended, and it is an
// error.
func (l *Lock) Break(ctx context.Context, token uint64) error {
	_, err := l.exchangeIf(ctx, locks.CanBreak, request{Method: methodBreak, Token: token})
	return err
}

// Forget implements locks.Forgetter. After Release the helper has ended, and it is
// an error.
func (l *Lock) Forget(ctx context.Context) error {
	_, err := l.exchangeIf(ctx, locks.CanForget, request{Method: methodForget})
	return err
}

// exchangeIf makes a call if the helper has declared the ability.
func (l *Lock) exchangeIf(ctx context.Context, a locks.Ability, r request) (*pending, error) {
	p, err := l.beginIf(ctx, a, r)
	if err != nil {
		return nil, err
	}
	return l.await(ctx, p)
}

// beginIf sends a request if the helper has declared the ability: one that has not
// may not even answer.
func (l *Lock) beginIf(ctx context.Context, a locks.Ability, r request) (*pending, error) {
	can, err := l.Abilities(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(can, a) {
		return nil, cannot(string(a))
	}
	return l.begin(ctx, r)
}

// abilities returns what the answer to open said.
func (s *session) abilities() ([]locks.Ability, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != opened {
		return nil, s.failure(methodOpen)
	}
	return slices.Clone(s.can), nil
}

// greeting returns what hello said, or why there was none.
func (s *session) greeting() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == started {
		return "", s.failure(methodOpen)
	}
	return s.version, nil
}

func (s *session) isReleased() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Is(s.err, errReleased)
}

// takeAsked keeps what the holder is asked, if it is the last.
func (s *session) takeAsked(m *message) error {
	switch {
	case s.grant == nil:
		return errors.New("a request to the holder of a lock that was not granted")
	case m.Text == nil || len(*m.Text) > locks.MaxRecord:
		return errors.New("a request to the holder without a text of the length allowed")
	}
	select {
	case <-s.asked: // nobody has looked
	default:
	}
	s.asked <- []byte(*m.Text)
	return nil
}

// takeCan notes the abilities that we know.
func (s *session) takeCan(can []string) error {
	if len(can) > 64 {
		return errors.New("more than 64 abilities")
	}
	for _, a := range abilities() {
		if slices.Contains(can, string(a)) {
			s.can = append(s.can, a)
		}
	}
	return nil
}

// checkState reports what cannot be.
func checkState(st *locks.State) error {
	switch {
	case st == nil:
		return errors.New("an answer without a state")
	case !sane(&locks.Waiting{Status: st.Status}):
		return errors.New("a state that makes no sense")
	case len(st.Queue) > locks.MaxQueue:
		return errors.New("a queue that is too long")
	}
	for _, p := range st.Queue {
		if p.Priority < -locks.MaxPriority || p.Priority > locks.MaxPriority {
			return errors.New("a priority out of range")
		}
	}
	return nil
}

// abilities are those that this package knows.
func abilities() []locks.Ability {
	return []locks.Ability{
		locks.CanInspect, locks.CanQueue, locks.CanRecord, locks.CanAsk,
		locks.CanList, locks.CanWatch, locks.CanBreak, locks.CanProbe, locks.CanForget,
	}
}

var (
	_ locks.Able      = (*Lock)(nil)
	_ locks.Inspector = (*Lock)(nil)
	_ locks.Recorder  = (*Lock)(nil)
	_ locks.Asker     = (*Lock)(nil)
	_ locks.Breaker   = (*Lock)(nil)
	_ locks.Forgetter = (*Lock)(nil)
)
