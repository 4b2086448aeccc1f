package guard

import "time"

// writeTimeout is how long a frame may take: the other end is frozen if so much
// is there for it to read. A start is long, and is sent to a process that is
// just being started itself. What is started beside the job has an environment,
// too, which may be more than the socket takes at once; other frames wait for it
// as long as the deadlines allow a busy machine to be late.
const (
	writeTimeout = 100 * time.Millisecond
	startTimeout = time.Minute
	asideTimeout = time.Second
)

func (c *conn) send(f frame) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	timeout := writeTimeout
	switch f.kind {
	case kindStart:
		timeout = startTimeout
	case kindAside:
		timeout = asideTimeout
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

// receive blocks until there is a frame. After the other end has closed the
// socket, or died, it returns io.EOF.
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

// feed passes on what is received, until there is no more.
func (c *conn) feed(frames chan<- frame) {
	defer close(frames)
	for {
		f, err := c.receive()
		if err != nil {
			return
		}
		frames <- f
	}
}
