package guard

import (
	"os"
	"time"
)

// writeTimeout is how long a frame may take: the other end is frozen if so much
// is there for it to read. A start is long, and is sent to a process that is
// just being started itself.
const (
	writeTimeout = 100 * time.Millisecond
	startTimeout = time.Minute
)

// A line is one end of what connects leaderrun and its guard: a [conn], or in tests
// a model of one.
type line interface {
	// send fails with os.ErrDeadlineExceeded if the other end reads nothing.
	send(frame) error
	// offer writes as much of b as there is room for, and does not wait.
	offer(b []byte) (n int, err error)
	// sendFiles sends a small frame, and files with it.
	sendFiles(f frame, files ...int) error
	// nextFile returns the next file that came, or nil.
	nextFile(name string) *os.File
	// receive blocks until there is a frame. After the other end has closed the
	// line, or died, it returns io.EOF.
	receive() (frame, error)
	close()
}

func (c *conn) send(f frame) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	timeout := writeTimeout
	if f.kind == kindStart {
		timeout = startTimeout
	}
	return c.write(f.encode(), time.Now().Add(timeout))
}

// write writes all of b. What there is room for is written even if by has passed:
// then it is the machine that was too busy to run us, and not the other end.
func (c *conn) write(b []byte, by time.Time) error {
	n, err := c.writeNow(b)
	if err != nil || n == len(b) {
		return err
	}
	_ = c.file.SetWriteDeadline(by)
	_, err = c.file.Write(b[n:])
	return err
}

func (c *conn) offer(b []byte) (n int, err error) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	return c.writeNow(b)
}

func (c *conn) receive() (frame, error) {
	for {
		f, rest, ok, err := cutFrame(c.buf)
		if err != nil {
			return frame{}, err
		}
		if ok {
			c.buf = rest
			return f, nil
		}
		if err := c.fill(); err != nil {
			return frame{}, err
		}
	}
}

func (c *conn) close() { _ = c.file.Close() }

// feed passes on what is received, until there is no more or done is closed.
func feed(l line, frames chan<- frame, done <-chan struct{}) {
	defer close(frames)
	for {
		f, err := l.receive()
		if err != nil {
			return
		}
		select {
		case frames <- f:
		case <-done:
			return
		}
	}
}
