//go:build unix

package guard

import (
	"io"
	"os"
	"sync"
)

// A pipe is one direction of a line: what is written to it waits in it.
type pipe struct {
	mu     sync.Mutex
	data   []byte
	closed bool
	news   chan struct{} // closed when there is any
}

func newPipe() *pipe { return &pipe{news: make(chan struct{})} }

func (p *pipe) tell() {
	close(p.news)
	p.news = make(chan struct{})
}

func (p *pipe) write(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return os.ErrClosed
	}
	p.data = append(p.data, b...)
	p.tell()
	return nil
}

func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		p.tell()
	}
}

// cut returns the next frame, if there is one, and otherwise what to wait for.
func (p *pipe) cut() (f frame, ok bool, news <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, rest, ok, err := cutFrame(p.data)
	p.data = rest
	if !ok && err == nil && p.closed {
		err = io.EOF
	}
	return f, ok, p.news, err
}

// An end is the line of one process.
type end struct {
	*process
	in, out *pipe
	sent    func(frame) // called before each frame is; may be nil
}

func (e *end) send(f frame) error {
	if !e.gate() {
		return os.ErrClosed
	}
	if e.sent != nil {
		e.sent(f)
	}
	return e.out.write(f.encode())
}

func (e *end) offer(b []byte) (n int, err error) {
	if !e.gate() {
		return 0, os.ErrClosed
	}
	return len(b), e.out.write(b)
}

func (e *end) receive() (frame, error) {
	for {
		f, ok, news, err := e.in.cut()
		if err != nil {
			return frame{}, err
		}
		if ok && e.gate() {
			return f, nil
		}
		if e.isDead() {
			return frame{}, io.EOF
		}
		select {
		case <-news:
		case <-e.dead:
		}
	}
}

func (e *end) close() {
	e.in.close()
	e.out.close()
}

func (e *end) sendFiles(frame, ...int) error { panic("this lock has no files") }
func (e *end) nextFile(string) *os.File      { return nil }

var _ line = (*end)(nil)
