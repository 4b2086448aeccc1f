package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
)

// TestEventsToAFIFO opens and writes to a FIFO without a reader.
func TestEventsToAFIFO(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var l *Events
	within(t, 5*time.Second, "opening", func() {
		var err error
		if l, err = OpenEvents(path); err != nil {
			t.Error(err)
		}
	})
	within(t, 5*time.Second, "writing", func() {
		for range 10_000 {
			l.Event(event.Event{Kind: event.Started})
		}
	})
	within(t, sinkFlush+5*time.Second, "closing", func() {
		if err := l.Close(); err == nil {
			t.Error("Close does not report that most events are lost")
		}
	})
}

// TestEventsToADescriptor: only descriptors that we were started with are accepted.
func TestEventsToADescriptor(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "events"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := OpenEvents(fmt.Sprintf("fd:%d", f.Fd())); !errors.Is(err, locks.ErrUsage) {
		t.Errorf("a descriptor of our own: %v", err)
	}
	fd, err := unix.Dup(int(f.Fd())) // without FD_CLOEXEC, like an inherited descriptor
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenEvents(fmt.Sprintf("fd:%d", fd))
	if err != nil {
		t.Fatal(err)
	}
	l.Event(event.Event{Kind: event.Started, Lock: "x"})
	l.Close()
	got, err := os.ReadFile(f.Name())
	if want := `{"v":0,"time":"0001-01-01T00:00:00Z","event":"started","lock":"x","id":""}` + "\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestNoEvents: without a value of --events nothing is written.
func TestNoEvents(t *testing.T) {
	t.Parallel()
	l, err := OpenEvents("")
	if err != nil {
		t.Fatal(err)
	}
	l.Event(event.Event{})
	l.Close()
}
