package helper

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

// offered returns the abilities that a backend declares and has the methods of.
func offered(ctx context.Context, l locks.Lock) ([]string, error) {
	able, ok := l.(locks.Able)
	if !ok {
		return nil, nil
	}
	declared, err := able.Abilities(ctx)
	if err != nil {
		return nil, err
	}
	has := map[locks.Ability]bool{}
	_, has[locks.CanInspect] = l.(locks.Inspector)
	_, has[locks.CanQueue] = l.(locks.Inspector)
	_, has[locks.CanRecord] = l.(locks.Recorder)
	_, has[locks.CanAsk] = l.(locks.Asker)
	_, has[locks.CanList] = l.(locks.Lister)
	_, has[locks.CanWatch] = l.(locks.Watcher)
	_, has[locks.CanBreak] = l.(locks.Breaker)
	_, has[locks.CanProbe] = l.(locks.Prober)
	_, has[locks.CanForget] = l.(locks.Forgetter)
	var can []string
	for _, a := range abilities() {
		if has[a] && slices.Contains(declared, a) {
			can = append(can, string(a))
		}
	}
	return can, nil
}

func cannot(what string) error {
	return &locks.UsageError{What: "this backend cannot " + what}
}

func (s *server) inspect(ctx context.Context) (*result, error) {
	i, ok := s.current().lock.(locks.Inspector)
	if !ok {
		return nil, cannot("inspect")
	}
	st, err := i.Inspect(ctx)
	if err != nil {
		return nil, err
	}
	return &result{State: fitState(st)}, nil
}

func (s *server) record(ctx context.Context) (*result, error) {
	r, ok := s.current().lock.(locks.Recorder)
	if !ok {
		return nil, cannot("record")
	}
	text, err := r.Record(ctx)
	switch {
	case err != nil:
		return nil, err
	case text == nil:
		return &result{}, nil
	case locks.CheckText(text) != nil:
		return nil, errors.New("what is stored as the record is none")
	}
	record := string(text)
	return &result{Record: &record}, nil
}

func (s *server) setRecord(text string) func(context.Context) error {
	return func(ctx context.Context) error {
		r, ok := s.current().lock.(locks.Recorder)
		if !ok {
			return cannot("record")
		}
		if err := locks.CheckText([]byte(text)); err != nil {
			return err
		}
		return r.SetRecord(ctx, []byte(text))
	}
}

func (s *server) ask(token uint64, text string) func(context.Context) error {
	return func(ctx context.Context) error {
		a, ok := s.current().lock.(locks.Asker)
		if !ok {
			return cannot("ask")
		}
		if err := locks.CheckText([]byte(text)); err != nil {
			return err
		}
		return a.Ask(ctx, token, []byte(text))
	}
}

func (s *server) breakTerm(token uint64) func(context.Context) error {
	return func(ctx context.Context) error {
		b, ok := s.current().lock.(locks.Breaker)
		if !ok {
			return cannot("break")
		}
		return b.Break(ctx, token)
	}
}

func (s *server) forget(ctx context.Context) error {
	f, ok := s.current().lock.(locks.Forgetter)
	if !ok {
		return cannot("forget")
	}
	return f.Forget(ctx)
}

// asked is what the holder is asked; nil if its backend never tells.
func (h *handle) asked() <-chan []byte {
	if a, ok := h.lock.(locks.Asker); ok {
		return a.Asked()
	}
	return nil
}

// passOn reports what the holder is asked. What no Ask can have left is not.
func (s *server) passOn(h *handle, text []byte) {
	if len(text) > locks.MaxRecord || !utf8.Valid(text) {
		s.log.Debug("a request to the holder that makes no sense", "bytes", len(text))
		return
	}
	request := string(text)
	s.report(h, message{Event: eventAsked, Text: &request})
}

// fitState makes a state fit into a line: of a queue whose texts are too long
// the end is left out.
func fitState(st locks.State) *locks.State {
	st.Status = fitStatus(st.Status)
	st.Queue = slices.Clone(st.Queue[:min(len(st.Queue), locks.MaxQueue)])
	for i := range st.Queue {
		p := &st.Queue[i]
		p.Holder, p.RunID = cut(p.Holder, maxPlaceText), cut(p.RunID, maxPlaceText)
		p.Since = fitTime(p.Since)
		p.Priority = min(max(p.Priority, -locks.MaxPriority), locks.MaxPriority)
	}
	for len(st.Queue) > 0 && jsonSize(st) > maxState {
		st.Queue = st.Queue[:len(st.Queue)-1]
	}
	return &st
}

const (
	// maxPlaceText is the longest text of a place in a queue, in bytes.
	maxPlaceText = 256
	// maxState is the greatest length of a state. The rest of its line is short.
	maxState = maxLine - 1<<10
)

func jsonSize(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // its times were made to fit
	}
	return len(b)
}
