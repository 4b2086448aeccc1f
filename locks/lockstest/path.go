package lockstest

import (
	"context"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// A Path is the path to a server that is simulated in the test process, for Config.Cut.
// The zero Path works. After CutOld, one request gets no answer. (Package faultproxy is for real
// servers.)
type Path struct {
	mu     sync.Mutex
	cut    Cut
	healed chan struct{}
	hold   int      // the request that is to be held back, from 1; 0: none
	late   []func() // what arrives when the path is healed
}

// Cut breaks the path until heal is called.
func (p *Path) Cut(how Cut) (heal func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	healed := make(chan struct{})
	p.cut, p.healed, p.hold = how, healed, 0
	if n, ok := how.Nth(); ok {
		p.cut, p.hold = "", n+1
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		late := p.late
		p.cut, p.hold, p.late = "", 0, nil
		p.mu.Unlock()
		for _, request := range late {
			request()
		}
		close(healed)
	})
}

// Do makes the server carry out one request, and returns when there is an answer. As with
// TCP, a cut request arrives once the path has healed. If connections are reset, the
// error wraps [locks.ErrUnavailable], and the server has not received the request.
func (p *Path) Do(ctx context.Context, request func()) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		cut, healed := p.state(request)
		if _, ok := cut.Nth(); ok {
			request = func() {}
		}
		switch cut {
		case "":
			request()
			return nil
		case CutReset:
			return locks.ErrUnavailable
		case CutReplies:
			request()
			request = func() {}
		}
		select {
		case <-ctx.Done():
			p.forget()
			return ctx.Err()
		case <-healed:
		}
	}
}

// forget makes another connection, after a request without an answer.
func (p *Path) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut == CutOld {
		p.cut = ""
	}
}

// state returns what is wrong with the path for a request.
func (p *Path) state(request func()) (cut Cut, healed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold > 0 {
		if p.hold--; p.hold == 0 {
			p.late = append(p.late, request)
			return CutNth(0), p.healed
		}
	}
	return p.cut, p.healed
}
