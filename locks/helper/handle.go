package helper

import (
	"context"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// A handle is the backend's Lock and the state of its one term.
type handle struct {
	lock locks.Lock

	mu    sync.Mutex
	began bool          // the lock was granted
	over  chan struct{} // closed when the lock was released
}

func (h *handle) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began = true
}

// end is called after each release.
func (h *handle) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.began && !isClosed(h.over) {
		close(h.over)
	}
}

// state reports whether the term has begun, and whether it is over.
func (h *handle) state() (began, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.began, isClosed(h.over)
}

// current returns the handle that calls apply to.
func (s *server) current() *handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handle
}

// fresh returns a handle that has not served a term. The core campaigns again after a
// term only if it had given up the acquire that began it. So the user of the core's Lock
// has not seen that term.
func (s *server) fresh(ctx context.Context) (*handle, error) {
	h := s.current()
	began, over := h.state()
	switch {
	case !began:
		return h, nil
	case !over:
		return nil, &locks.UsageError{What: "the lock is already held"}
	}
	_ = h.lock.Close() // it no longer holds anything
	lock, err := s.reopen(ctx)
	if err != nil {
		return nil, err
	}
	h = newHandle(lock)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = h
	return h, nil
}

func newHandle(lock locks.Lock) *handle { return &handle{lock: lock, over: make(chan struct{})} }

// watch reports the loss of a granted lock and, until then, requests to its holder.
func (s *server) watch(h *handle) {
	asked := h.asked()
	for {
		select {
		case err := <-h.lock.Lost():
			s.report(h, message{Event: eventLost, Error: toWire(err, s.secrets.hider())})
			return
		case text := <-asked:
			s.passOn(h, text)
		case <-h.over:
			return
		case <-s.ended:
			return
		}
	}
}

// report sends an event about a term that is not over. The answer to a release does not
// overtake it.
func (s *server) report(h *handle, m message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !isClosed(h.over) {
		s.send(m)
	}
}
