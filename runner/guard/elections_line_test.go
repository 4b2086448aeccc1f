package guard

import (
	"io"
	"os"
	"sync"
)

// A pipe is one direction of a line. It keeps bytes until they are read.
type pipe struct {
	mu     sync.Mutex
	data   []byte
	closed bool
	news   chan struct{} // closed at the next change
}

func newPipe() *pipe { return &pipe{news: make(chan struct{})} }

func (p *pipe) signal() {
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
	p.signal()
	return nil
}

func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		p.signal()
	}
}

// cut returns the next frame or, if there is none, a channel that is closed at the next
// change.
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

// An end is one process's end of a line.
type end struct {
	*process
	in, out *pipe
	sent    func(frame) // called before each frame is sent; may be nil
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
