package lockstest

import (
	"net/url"
	"sync/atomic"
)

// A path is a way to the memory, and counts the connections over it.
type path struct {
	Path
	conns atomic.Int64
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

func (p *path) isCut() bool {
	cut, _ := p.state()
	return cut != ""
}
