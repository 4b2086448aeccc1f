package helper

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// TestLongList checks that the records of a page are complete although no two of them fit
// into one line.
func TestLongList(t *testing.T) {
	t.Parallel()
	cursor := strings.Repeat("\x03", locks.MaxCursor)
	l := start(t, able("fake://h/?locks=64&next="+strings.Repeat("%03", locks.MaxCursor)), options())
	page, next, err := l.List(t.Context(), cursor)
	if err != nil || next != cursor || len(page) != locks.MaxList {
		t.Fatalf("got %d locks, a cursor of %d bytes, %v", len(page), len(next), err)
	}
	for i, one := range page {
		if one.Name != fmt.Sprintf("lock%d", i) || string(one.Record) != strings.Repeat("\x02", locks.MaxRecord) {
			t.Errorf("place %d has %q with a record of %d bytes", i, one.Name, len(one.Record))
		}
		if st := one.Status; !st.Held || len(st.Holder) != maxText || st.PID != 0 || st.Start != "" || !st.Since.IsZero() {
			t.Errorf("%s has the status %.100v", one.Name, st)
		}
	}
}

// TestListHostile checks that a list leaves out what is not a lock, that an invalid
// record becomes valid text, and that neither keeps the others from being listed.
func TestListHostile(t *testing.T) {
	t.Parallel()
	l := start(t, able("fake://h/?locks=2&suffix=%00/../x"), options())
	page, _, err := l.List(t.Context(), "")
	if err != nil || len(page) != 1 || page[0].Name != "lock1" {
		t.Errorf("with an invalid name: got %d locks, %v", len(page), err)
	}
	for text, want := range map[string]string{"a%ff%feb": "a?b", strings.Repeat("y", locks.MaxRecord+1): strings.Repeat("y", locks.MaxRecord)} {
		l = start(t, able("fake://h/?locks=2&text="+text), options())
		page, _, err = l.List(t.Context(), "")
		if err != nil || len(page) != 2 || string(page[0].Record) != want {
			t.Errorf("with the record %.10q: got %d locks, %v", text, len(page), err)
		}
	}
}

// TestListThatIsNone checks that a list that breaks the contract is an error, and that
// the session continues.
func TestListThatIsNone(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"locks=65":           "a page of 65 locks",
		"locks=1&next=%ff":   "cursor of the next page is invalid",
		"locks=1&list=lost":  "because",
		"locks=1&list=plain": "unclassed",
		"locks=1&next=" + strings.Repeat("x", locks.MaxCursor+1): "cursor of the next page is invalid",
	} {
		l := start(t, able("fake://h/?"+query), options())
		if page, _, err := l.List(t.Context(), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: got %d locks, %v; want an error with %q", query, len(page), err, want)
		}
		if _, err := l.Acquire(t.Context(), true); err != nil {
			t.Errorf("%.20s: acquire: %v", query, err)
		}
	}
	l := start(t, able("fake://h/"), options())
	for _, cursor := range []string{"\xff", strings.Repeat("x", locks.MaxCursor+1)} {
		_, _, err := l.List(t.Context(), cursor)
		checkClass(t, "list", err, locks.ErrUsage)
	}
}
