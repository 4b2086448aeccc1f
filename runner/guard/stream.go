package guard

import "os"

// A line is one end of the connection between leaderrun and its guard: a [conn], or in tests
// a model of one. Only one goroutine at a time writes to it.
type line interface {
	// send waits until the other end reads, for however long. It fails when the other end
	// has died, or this end is closed.
	send(frame) error
	// offer writes as much of b as there is room for. It does not wait.
	offer(b []byte) (n int, err error)
	// sendFiles sends a small frame with files.
	sendFiles(f frame, files ...int) error
	// nextFile returns the next file that was received, or nil.
	nextFile(name string) *os.File
	// receive waits for a frame. After the other end has closed the line, or died, it
	// returns io.EOF.
	receive() (frame, error)
	close()
}

func (c *conn) send(f frame) error {
	_, err := c.file.Write(f.encode())
	return err
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

// feed sends received frames to a channel, until there are no more or done is closed.
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
