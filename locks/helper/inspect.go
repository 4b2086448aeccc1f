package helper

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// Inspect implements locks.Inspector.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	p, err := l.call(ctx, request{Method: methodInspect})
	return value(p.result.State), err
}

// takeState returns an error for an invalid state.
func takeState(_ *pending, r *result) error {
	st := r.State
	switch {
	case st == nil:
		return errors.New("an answer without a state")
	case !sane(&locks.Waiting{Status: st.Status}):
		return errors.New("an invalid state")
	case len(st.Queue) > locks.MaxQueue:
		return errors.New("a queue with too many places")
	case len(st.Details) > locks.MaxDetails:
		return errors.New("too many details")
	}
	for _, p := range st.Queue {
		if p.Priority < -locks.MaxPriority || p.Priority > locks.MaxPriority {
			return errors.New("a priority out of range")
		}
	}
	return nil
}

func answerInspect(ctx context.Context, i locks.Inspector, c *call) error {
	st, err := i.Inspect(ctx)
	hide := c.server.secrets.hider()
	for i, d := range st.Details {
		st.Details[i] = hide(d)
	}
	c.result.State = fitState(st)
	return err
}

// fitState makes a state fit into a line: if the texts of the queue or of the details are too
// long, the last ones are left out.
func fitState(st locks.State) *locks.State {
	st.Status = fitStatus(st.Status)
	st.Queue = slices.Clone(st.Queue[:min(len(st.Queue), locks.MaxQueue)])
	for i := range st.Queue {
		p := &st.Queue[i]
		p.Holder, p.RunID = cut(p.Holder, maxPlaceText), cut(p.RunID, maxPlaceText)
		p.Since = fitTime(p.Since)
		p.Priority = min(max(p.Priority, -locks.MaxPriority), locks.MaxPriority)
	}
	st.Details = slices.Clone(st.Details[:min(len(st.Details), locks.MaxDetails)])
	for i, d := range st.Details {
		st.Details[i] = cut(d, maxPlaceText)
	}
	for jsonSize(st.Details) > maxState/4 {
		st.Details = st.Details[:len(st.Details)-1]
	}
	for len(st.Queue) > 0 && jsonSize(st) > maxState {
		st.Queue = st.Queue[:len(st.Queue)-1]
	}
	return &st
}

const (
	// maxPlaceText is the limit of a text of a place in a queue, in bytes.
	maxPlaceText = 256
	// maxState is the limit of a state, in bytes. The rest of its line is short.
	maxState = maxLine - 1<<10
)

func jsonSize(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // fitState has made its times valid
	}
	return len(b)
}
