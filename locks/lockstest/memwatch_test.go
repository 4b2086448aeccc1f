package lockstest

import (
	"context"
	"strings"
	"time"
)

// A look is one client's at what changes.
type look struct {
	prefix string // of the keys
	one    string // the only one of them; "": all
	news   chan struct{}
}

// changed is called after each change; mu is held.
func (m *memory) changed(key string) {
	for w := range m.looks {
		if !strings.HasPrefix(key, w.prefix) || w.one != "" && key != w.one {
			continue
		}
		select {
		case w.news <- struct{}{}:
		default:
		}
	}
}

func (m *memory) register(w *look) (end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks[w] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.looks, w)
	}
}

func (l *memLock) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	w := &look{prefix: l.prefix(), news: make(chan struct{}, 1)}
	if !all || l.m.is("watch-of-all-is-of-one") {
		w.one = l.key
	}
	if l.m.is("watch-takes-the-handle") {
		_ = l.set(nil)
	}
	var end func()
	if err := l.request(ctx, "watch", func() { end = l.m.register(w) }); err != nil {
		return nil, err
	}
	changed := make(chan struct{}, 1)
	l.background(func() {
		defer end()
		l.follow(ctx, w, changed)
	})
	return changed, nil
}

// follow passes on what the server tells.
func (l *memLock) follow(ctx context.Context, w *look, changed chan<- struct{}) {
	if !l.m.is("watch-stays-open") {
		defer close(changed)
	}
	done := ctx.Done()
	if l.m.is("watch-ignores-context") {
		done = nil
	}
	news := w.news
	for {
		select {
		case <-done:
			return
		case <-l.life.Done():
			return
		case <-news:
		}
		if l.m.is("watch-forgets-in-cut") && l.path.isCut() {
			continue
		}
		l.reach(ctx)
		if ctx.Err() != nil {
			continue
		}
		select {
		case changed <- struct{}{}:
		default:
		}
		if l.m.is("watch-tells-once") {
			news = nil
		}
	}
}

// reach waits until the server can be reached.
func (l *memLock) reach(ctx context.Context) {
	for l.life.Err() == nil && ctx.Err() == nil {
		timed, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		err := l.path.Do(timed, func() {})
		if err == nil {
			cancel()
			return
		}
		<-timed.Done() // not at once again
		cancel()
	}
}
