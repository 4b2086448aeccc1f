package helper

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
)

// A watch request is under way for as long as the helper watches, as an acquire is while
// it waits. So it ends like any other request: by a cancel, and the answer says that it
// has ended. The first event reports that the helper has begun to watch, and each further
// event reports a change.

// A watch is the core's end of a watch request. The session's mu guards it.
type watch struct {
	begun   chan struct{} // closed by the first event
	changed chan struct{} // the channel that Watch returned; closed at the end
	over    bool          // changed is closed
}

func newWatch() *watch {
	return &watch{begun: make(chan struct{}), changed: make(chan struct{}, 1)}
}

// notify passes an event on. It merges with one that was not received yet.
func (w *watch) notify() {
	switch {
	case w.over: // the request was given up
	case !isClosed(w.begun):
		close(w.begun)
	default:
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

// end is called when the request is answered or given up, whichever is first. Requests
// other than watch have no watch.
func (w *watch) end() {
	if w != nil && !w.over {
		w.over = true
		close(w.changed)
	}
}

// Watch implements locks.Watcher. A second call ends the first watch.
func (l *Lock) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	s, err := l.able(ctx, methodWatch)
	if err != nil {
		return nil, err
	}
	p, err := s.send(ctx, request{Method: methodWatch, All: all})
	if err != nil {
		return nil, err
	}
	if before := p.session.replaceWatch(p); before != nil {
		p.session.giveUp(before)
	}
	go l.endWith(ctx, p)
	select {
	case <-p.watch.begun:
		return p.watch.changed, nil
	case <-p.done:
		if err := p.outcome(ctx); err != nil && !isClosed(p.watch.begun) {
			return nil, err
		}
		return p.watch.changed, nil // already over
	case <-ctx.Done():
		return nil, s.failed(methodWatch, nil, ctx.Err())
	}
}

// endWith gives a request up when ctx ends. It returns when the session ends at the
// latest.
func (l *Lock) endWith(ctx context.Context, p *pending) {
	select {
	case <-ctx.Done():
		p.session.giveUp(p)
	case <-p.done:
	}
}

// replaceWatch remembers the latest watch request, and returns the one before.
func (s *session) replaceWatch(p *pending) (before *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.watching = s.watching, p
	return before
}

// takeEnd takes the answer to a watch request.
func takeEnd(p *pending, _ *result) error {
	if !isClosed(p.watch.begun) && !p.gaveUp {
		return errors.New("the end of a watch that has not begun")
	}
	return nil
}

// serveWatch watches until ctx ends or the backend stops.
func serveWatch(ctx context.Context, w locks.Watcher, c *call) error {
	changed, err := w.Watch(ctx, c.All)
	if err != nil {
		return err
	}
	c.server.out.write(message{Event: eventChanged, ID: c.ID})
	for range changed {
		c.server.out.write(message{Event: eventChanged, ID: c.ID})
	}
	return nil
}
