package output

import (
	"io"
	"sync"
	"time"
)

// A Sink writes to something that may stall, without ever stalling who writes
// to the sink: what does not fit into its queue is dropped. It is safe for
// concurrent use, and one Write is never mixed with another, nor torn: see
// wholeWriter.
type Sink struct {
	w     wholeWriter
	start sync.Once
	queue chan chunk
	over  chan struct{} // closed: the end
	done  chan struct{}
}

// A chunk is what one Write was given, or a mark that is closed when all before
// it is written.
type chunk struct {
	text []byte
	mark chan struct{}
}

// sinkQueue is how many writes may wait, and sinkFlush how long close waits
// for them.
const (
	sinkQueue = 1024
	sinkFlush = time.Second
)

// NewSink makes a sink that writes to w.
func NewSink(w io.Writer) *Sink { return sinkOf(wholeWriter{w: w}) }

func sinkOf(w wholeWriter) *Sink {
	return &Sink{w: w, queue: make(chan chunk, sinkQueue), over: make(chan struct{}), done: make(chan struct{})}
}

// Write takes lines, or drops them.
func (s *Sink) Write(p []byte) (int, error) {
	s.start.Do(func() { go s.run() })
	select {
	case s.queue <- chunk{text: append([]byte(nil), p...)}:
	default:
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
			s.rest()
			return
		}
	}
}

// rest writes what is in the queue at the end.
func (s *Sink) rest() {
	for {
		select {
		case c := <-s.queue:
			s.take(c)
		default:
			s.w.finish()
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

// Drain waits until all that was written so far is out, or for the given time.
// It follows a Write.
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

// Close ends the sink, and reports whether all is written. What is written to it
// after that, by the reader of a helper's log that could not be waited for, is lost.
func (s *Sink) Close() bool {
	started := true
	s.start.Do(func() { started = false })
	close(s.over)
	if !started {
		return true
	}
	select {
	case <-s.done:
		return true
	case <-time.After(sinkFlush):
		return false
	}
}
