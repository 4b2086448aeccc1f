//go:build unix

package socket_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/leaderrun/leaderrun/runner/socket"
)

// locksOf follows a chain, and returns the locks in the answers.
func locksOf(path string) (found []string, last error) {
	for link, err := range socket.Chain(path, limit) {
		if last = err; err == nil {
			found = append(found, link.Lock)
		}
	}
	return found, last
}

func TestChain(t *testing.T) {
	t.Parallel()
	outer := serve(t, always(socket.Answer{Lock: "outer"}))
	middle := serve(t, always(socket.Answer{Lock: "middle", Around: outer.Path()}))
	inner := serve(t, always(socket.Answer{Lock: "inner", Around: middle.Path()}))
	if got, err := locksOf(inner.Path()); !slices.Equal(got, []string{"inner", "middle", "outer"}) || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for link, err := range socket.Chain(inner.Path(), limit) {
		if link.Lock != "inner" || link.Path != inner.Path() || err != nil {
			t.Errorf("got %+v, %v", link, err)
		}
		break // and ask no other
	}
	if got, err := locksOf(""); got != nil || err != nil {
		t.Errorf("from nowhere: got %q, %v", got, err)
	}
}

// If a leaderrun in a chain does not answer, the last link has an error.
func TestBrokenChain(t *testing.T) {
	t.Parallel()
	s := serve(t, always(socket.Answer{Lock: "a", Around: filepath.Join(t.TempDir(), "none")}))
	if got, err := locksOf(s.Path()); !slices.Equal(got, []string{"a"}) || err == nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// An endless chain is left.
func TestEndlessChain(t *testing.T) {
	t.Parallel()
	var s *socket.Server
	ready := make(chan struct{})
	s = serve(t, func() socket.Answer { <-ready; return socket.Answer{Lock: "a", Around: s.Path()} })
	close(ready)
	if got, err := locksOf(s.Path()); len(got) != 1 || err != nil {
		t.Errorf("a loop: got %q, %v", got, err)
	}
	around := s.Path()
	for i := range 40 {
		path := around
		around = serve(t, always(socket.Answer{Lock: strconv.Itoa(i), Around: path})).Path()
	}
	if got, err := locksOf(around); len(got) != 32 || err != nil {
		t.Errorf("41 in a row: got %q, %v", got, err)
	}
}
