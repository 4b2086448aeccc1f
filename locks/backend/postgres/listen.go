package postgres

import (
	"context"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// errPooled says that LISTEN is of no use. Somebody else might even receive our
// notifications.
var errPooled error = &locks.UsageError{What: "a pooler is in between, and passes on no notifications"}

// A hub passes on notifications. All locks of a schema share a channel of the server.
type hub struct {
	mu       sync.Mutex
	watchers map[*watcher]bool

	listening sync.Mutex // held while a listener is made
	listener  *conn
}

// A watcher waits for changes of one lock, or, if the name is "", of all.
type watcher struct {
	name    string
	changes chan struct{}
}

func (h *hub) add(name string) *watcher {
	w := &watcher{name, make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = map[*watcher]bool{}
	}
	h.watchers[w] = true
	return w
}

func (h *hub) remove(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, w)
	close(w.changes)
}

// notify notifies the watchers of the named lock that it has changed.
func (h *hub) notify(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if w.name != "" && w.name != name {
			continue
		}
		select {
		case w.changes <- struct{}{}:
		default: // it has not yet received the last one
		}
	}
}

// Watch implements [caslease.Watcher]. The channel is closed when the connection ends.
func (s *store) Watch(ctx context.Context, name string) (<-chan struct{}, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := s.hub.add(name)
	gone, err := s.listen(ctx)
	if err != nil {
		s.hub.remove(w)
		return nil, err
	}
	go func() {
		defer s.hub.remove(w)
		select {
		case <-ctx.Done():
		case <-s.pool.ctx.Done():
		case <-gone:
		}
	}()
	return w.changes, nil
}

// listen makes sure that a connection listens, and returns a channel that is closed when
// that connection ends.
func (s *store) listen(ctx context.Context) (gone <-chan struct{}, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.pool.timeout/2)
	defer cancel()
	s.hub.listening.Lock()
	defer s.hub.listening.Unlock()
	if l := s.hub.listener; l != nil {
		select {
		case <-l.CleanupDone():
		default:
			return l.CleanupDone(), nil
		}
	}
	c, err := s.pool.get(ctx)
	if err != nil {
		return nil, err
	}
	defer s.pool.put(c)
	if c.pooled {
		return nil, errPooled
	}
	if _, err := c.Exec(ctx, "LISTEN "+s.pool.settings.channel()).ReadAll(); err != nil {
		return nil, err
	}
	c.listening, s.hub.listener = true, c
	return c.CleanupDone(), nil
}

var (
	_ caslease.Watcher = (*store)(nil)
	_ caslease.Rester  = (*store)(nil)
)
