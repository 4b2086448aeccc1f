package lockstest

import (
	"context"
	"net/url"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// A path is a way to the server, which can be cut.
type path struct {
	mu     sync.Mutex
	cut    Cut
	healed chan struct{}
	conns  int
}

// path finds the way that a URL's host names.
func (m *memory) path(u *url.URL) *path {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.paths[u.Host]
	if p == nil {
		p = &path{}
		m.paths[u.Host] = p
	}
	return p
}

func (p *path) sever(how Cut) (heal func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	healed := make(chan struct{})
	p.cut, p.healed = how, healed
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.cut = ""
		close(healed)
	})
}

func (p *path) isCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut != ""
}

func (p *path) connect(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns += n
}

// do makes one request. What is cut arrives once the path has healed, as TCP
// has it; what is reset is refused.
func (p *path) do(ctx context.Context, f func()) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.mu.Lock()
		cut, healed := p.cut, p.healed
		p.mu.Unlock()
		switch cut {
		case "":
			f()
			return nil
		case CutReset:
			return locks.ErrUnavailable
		case CutReplies:
			f()
			f = func() {}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-healed:
		}
	}
}
