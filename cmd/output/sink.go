package output

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Sink writes to something that may stall, but its callers never wait: what does not fit
// into its queue is dropped. It is safe for concurrent use. Writes are neither mixed nor
// torn, see wholeWriter.
type Sink struct {
	w       wholeWriter
	start   sync.Once
	queue   chan chunk
	over    chan struct{} // closed by Close
	done    chan struct{}
	dropped atomic.Bool // the queue was full
}

// A chunk is the text of one Write, or a mark that is closed when all chunks before it are
// written.
type chunk struct {
	text []byte
	mark chan struct{}
}

// At most sinkQueue writes wait in the queue. Close waits for them for sinkFlush.
const (
	sinkQueue = 1024
	sinkFlush = time.Second
)

// NewSink returns a Sink that writes to w.
func NewSink(w io.Writer) *Sink { return sinkOf(wholeWriter{w: w}) }

func sinkOf(w wholeWriter) *Sink {
	return &Sink{w: w, queue: make(chan chunk, sinkQueue), over: make(chan struct{}), done: make(chan struct{})}
}

// Write queues lines, or drops them if the queue is full.
func (s *Sink) Write(p []byte) (int, error) {
	s.start.Do(func() { go s.run() })
	select {
	case s.queue <- chunk{text: append([]byte(nil), p...)}:
	default:
		s.dropped.Store(true)
	}
	return len(p), nil
}

func (s *Sink) run() {
	defer close(s.done)
	undisturbed()
	for {
		select {
		case c := <-s.queue:
			s.take(c)
		case <-s.over:
			for len(s.queue) > 0 { // nothing else receives
				s.take(<-s.queue)
			}
			if !s.w.finish() {
				s.w.lost = s.w.err
			}
			return
		}
	}
}

func (s *Sink) take(c chunk) {
	if c.mark != nil {
		close(c.mark)
		return
	}
	s.w.write(c.text)
}

// Drain waits until everything so far is written, but no longer than the limit. A Write
// must have preceded it.
func (s *Sink) Drain(limit time.Duration) {
	timeout := time.After(limit)
	mark := make(chan struct{})
	select {
	case s.queue <- chunk{mark: mark}:
	case <-timeout:
		return
	}
	select {
	case <-mark:
	case <-timeout:
	}
}

// Close ends the sink, and reports whether it has come to its end. Later writes are lost:
// the reader of a helper's log may outlive the sink.
func (s *Sink) Close() bool {
	s.start.Do(func() { close(s.done) })
	close(s.over)
	select {
	case <-s.done:
		return true
	case <-time.After(sinkFlush):
		return false
	}
}

var errStalled = errors.New("it took nothing for too long")

// Lost returns, after Close, why something was not written, or nil. A reader that has closed
// its end did not want it.
func (s *Sink) Lost() error {
	select {
	case <-s.done:
	default:
		return errStalled
	}
	switch {
	case errors.Is(s.w.lost, syscall.EPIPE):
		return nil
	case s.w.lost == nil && s.dropped.Load():
		return errStalled
	}
	return s.w.lost
}
