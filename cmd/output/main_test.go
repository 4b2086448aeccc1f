package output

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

func TestMain(m *testing.M) {
	tester.Forget()
	os.Exit(m.Run())
}

// testConsole returns a Console that prints to w.
func testConsole(w io.Writer) *Console { return &Console{file: os.Stderr, sink: NewSink(w)} }

// within fails a test in which f takes longer than the limit.
func within(t *testing.T, limit time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s takes longer than %v", what, limit)
	}
}
