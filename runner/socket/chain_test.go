package socket_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/leaderrun/leaderrun/runner/socket"
)

// locksOf follows a chain, and returns the locks in the answers.
func locksOf(variable string) (found []string, last error) {
	for link, err := range socket.Chain(variable, limit) {
		if last = err; err == nil {
			found = append(found, link.Lock)
		}
	}
	return found, last
}

func TestChain(t *testing.T) {
	t.Parallel()
	outer := serve(t, always(socket.Answer{Lock: "outer"})).Address()
	middle := socket.Join(serve(t, always(socket.Answer{Lock: "middle"})).Address(), outer)
	inner := serve(t, always(socket.Answer{Lock: "inner"})).Address()
	all := socket.Join(inner, middle)
	if got, err := locksOf(all); !slices.Equal(got, []string{"inner", "middle", "outer"}) || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for link, err := range socket.Chain(all, limit) {
		if again, _ := socket.Ask(link.Address, limit); again.Lock != "inner" || link.Lock != "inner" || err != nil {
			t.Errorf("got %+v, %v; then %+v", link, err, again)
		}
		break // and ask no other
	}
	if a, err := socket.Ask(all, limit); a.Lock != "inner" || err != nil {
		t.Errorf("the first one: got %+v, %v", a, err)
	}
	if got, err := locksOf(""); got != nil || err != nil {
		t.Errorf("from nowhere: got %q, %v", got, err)
	}
}

// If a leaderrun in a chain does not answer, the last link has an error.
func TestBrokenChain(t *testing.T) {
	t.Parallel()
	inner := serve(t, always(socket.Answer{Lock: "a"})).Address()
	around := serve(t, always(socket.Answer{Lock: "b"})).Address()
	silent := filepath.Join(t.TempDir(), "none") // a plain path
	if got, err := locksOf(socket.Join(inner, socket.Join("key=00,"+silent, around))); !slices.Equal(got, []string{"a"}) || err == nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := locksOf(socket.Join(inner, silent)); !slices.Equal(got, []string{"a"}) || err == nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// The variable does not grow for ever.
func TestLongChain(t *testing.T) {
	t.Parallel()
	all := ""
	for i := range 40 {
		all = socket.Join(serve(t, always(socket.Answer{Lock: strconv.Itoa(i)})).Address(), all)
	}
	if got, err := locksOf(all); len(got) != 32 || got[0] != "39" || got[31] != "8" || err != nil {
		t.Errorf("40 in a row: got %q, %v", got, err)
	}
}
