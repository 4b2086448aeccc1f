package output

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"
)

// A stalled writer blocks until release is closed.
type stalled struct {
	release chan struct{}
	mu      sync.Mutex
	got     bytes.Buffer
}

func (s *stalled) Write(p []byte) (int, error) {
	<-s.release
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.Write(p)
}

// TestSinkNeverBlocks writes more than the queue holds to a stalled writer.
func TestSinkNeverBlocks(t *testing.T) {
	t.Parallel()
	w := &stalled{release: make(chan struct{})}
	s := NewSink(w)
	within(t, time.Second, "writing", func() {
		for range 10 * sinkQueue {
			if n, err := s.Write([]byte("x")); n != 1 || err != nil {
				t.Errorf("Write: %d, %v", n, err)
			}
		}
	})
	within(t, 2*time.Second, "draining", func() { s.Drain(10 * time.Millisecond) })
	within(t, sinkFlush+2*time.Second, "closing", func() { s.Close() })
	close(w.release)
	<-s.done
	if n := w.got.Len(); n < sinkQueue || n > sinkQueue+1 {
		t.Errorf("%d writes arrived; want those that the queue holds, %d", n, sinkQueue)
	}
}

// TestSinkAfterItsEnd writes to a sink that is closed.
func TestSinkAfterItsEnd(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := NewSink(&b)
	fmt.Fprint(s, "before")
	if !s.Close() {
		t.Error("Close reports that not everything is written")
	}
	for range 2 * sinkQueue {
		fmt.Fprint(s, "after")
	}
	if got := b.String(); got != "before" {
		t.Errorf("got %q", got)
	}
}

func TestSinkWritesInOrder(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := NewSink(&b)
	want := ""
	for i := range 100 {
		fmt.Fprintf(s, "line %d\n", i)
		want += fmt.Sprintf("line %d\n", i)
	}
	s.Close()
	if b.String() != want {
		t.Errorf("got %q", &b)
	}
}

func TestSinkDrain(t *testing.T) {
	t.Parallel()
	w := &stalled{release: make(chan struct{})}
	s := NewSink(w)
	fmt.Fprint(s, "all of it")
	time.AfterFunc(20*time.Millisecond, func() { close(w.release) })
	s.Drain(time.Minute)
	w.mu.Lock()
	if got := w.got.String(); got != "all of it" {
		t.Errorf("after drain %q is written", got)
	}
	w.mu.Unlock()
	s.Close()
}

// TestSinkKeepsACopy changes the slice after the write.
func TestSinkKeepsACopy(t *testing.T) {
	t.Parallel()
	w := &stalled{release: make(chan struct{})}
	s := NewSink(w)
	p := []byte("before")
	_, _ = s.Write(p)
	copy(p, "after!")
	close(w.release)
	s.Close()
	if got := w.got.String(); got != "before" {
		t.Errorf("got %q", got)
	}
}

func TestSinkThatWasNeverUsed(t *testing.T) {
	t.Parallel()
	within(t, time.Second, "closing", func() { NewSink(io.Discard).Close() })
}
