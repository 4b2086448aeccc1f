package helper

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
)

// A request to watch is under way for as long as the helper looks, as an acquire
// is while it waits. So it is ended as any other, by a cancel, and the answer says
// that it has ended. The first event about it says that the helper looks from now
// on, and each further one that something has changed.

// A look is the core's end of a request to watch. The session's mu guards it.
type look struct {
	begun   chan struct{} // closed by the first event
	changed chan struct{} // what the caller of Watch has; closed at the end
	over    bool          // changed is closed
}

func newLook() *look {
	return &look{begun: make(chan struct{}), changed: make(chan struct{}, 1)}
}

// tell passes an event on. What nobody has received yet says the same.
func (w *look) tell() {
	switch {
	case w.over: // it was given up
	case !isClosed(w.begun):
		close(w.begun)
	default:
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

// end is called when the request is answered or given up, whichever is first. A
// request for something else has no look.
func (w *look) end() {
	if w != nil && !w.over {
		w.over = true
		close(w.changed)
	}
}

// Watch implements locks.Watcher. A second one ends the first.
func (l *Lock) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	p, err := l.begin(ctx, request{Method: methodWatch, All: all})
	if err != nil {
		return nil, err
	}
	if before := p.session.replaceLook(p); before != nil {
		p.session.giveUp(before)
	}
	go l.endWith(ctx, p)
	select {
	case <-p.look.begun:
		return p.look.changed, nil
	case <-p.done:
		if err := l.outcome(ctx, p); err != nil && !isClosed(p.look.begun) {
			return nil, err
		}
		return p.look.changed, nil // over already
	case <-ctx.Done():
		return nil, l.over(ctx, methodWatch)
	}
}

// endWith gives a request up when ctx ends. It returns at the latest with the
// session.
func (l *Lock) endWith(ctx context.Context, p *pending) {
	select {
	case <-ctx.Done():
		p.session.giveUp(p)
	case <-p.done:
	}
}

// replaceLook notes the last request to watch, and returns the one before.
func (s *session) replaceLook(p *pending) (before *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.looking = s.looking, p
	return before
}

// takeEnd takes the answer to a request to watch.
func (p *pending) takeEnd(*result) error {
	if !isClosed(p.look.begun) && !p.gaveUp {
		return errors.New("the end of a watch that has not begun")
	}
	return nil
}

func (s *session) takeChanged(m *message) error {
	p := s.find(m)
	if p == nil || p.look == nil {
		return errors.New("a change of what is not watched")
	}
	p.look.tell()
	return nil
}

// answerWatch watches until ctx ends, or the backend does not go on.
func answerWatch(ctx context.Context, w locks.Watcher, c *call) error {
	changed, err := w.Watch(ctx, c.All)
	if err != nil {
		return err
	}
	c.say(message{Event: eventChanged})
	for range changed {
		c.say(message{Event: eventChanged})
	}
	return nil
}
