package view

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	waited := held("a", "x", 1)
	waited.Waiters, waited.Queue = 1, []locks.Place{{Holder: "w", RunID: "1"}}
	other := held("a", "x", 1)
	other.Waiters, other.Queue = 1, []locks.Place{{Holder: "v", RunID: "2"}}
	lapsed := held("a", "x", 1)
	lapsed.Left = -1
	unsure := lapsed
	unsure.Confirm = time.Second
	for name, test := range map[string]struct {
		before, now []Lock
		want        []string
	}{
		"nothing":          {[]Lock{held("a", "x", 1)}, []Lock{held("a", "x", 1)}, nil},
		"taken":            {[]Lock{{Name: "a"}}, []Lock{held("a", "x", 1)}, []string{"a held"}},
		"new":              {nil, []Lock{held("a", "x", 1)}, []string{"a held"}},
		"new and free":     {nil, []Lock{{Name: "a"}}, nil},
		"released":         {[]Lock{held("a", "x", 1)}, []Lock{{Name: "a"}}, []string{"a free"}},
		"not listed":       {[]Lock{held("a", "x", 1)}, nil, []string{"a free"}},
		"handed over":      {[]Lock{held("a", "x", 1)}, []Lock{held("a", "y", 2)}, []string{"a held"}},
		"the same again":   {[]Lock{held("a", "x", 1)}, []Lock{held("a", "x", 2)}, []string{"a held"}},
		"a waiter":         {[]Lock{held("a", "x", 1)}, []Lock{waited}, []string{"a waiting"}},
		"another waiter":   {[]Lock{other}, []Lock{waited}, []string{"a waiting"}},
		"lease over":       {[]Lock{held("a", "x", 1)}, []Lock{lapsed}, []string{"a lapsed"}},
		"confirmed":        {[]Lock{unsure}, []Lock{lapsed}, []string{"a lapsed"}},
		"not confirmed":    {[]Lock{unsure}, []Lock{unsure}, nil},
		"two of three":     {[]Lock{{Name: "a"}, held("b", "x", 1), held("c", "x", 1)}, []Lock{held("a", "y", 2), {Name: "b"}, held("c", "x", 1)}, []string{"a held", "b free"}},
		"free, not listed": {[]Lock{{Name: "a"}}, nil, nil},
	} {
		var got []string
		for _, c := range Changes(test.before, test.now, now) {
			got = append(got, c.Lock.Name+" "+c.Kind)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q; want %q", name, got, test.want)
		}
	}
}

// TestLines: a line is one line, even if others wrote what is in it.
func TestLines(t *testing.T) {
	t.Parallel()
	evil := held("a", "x\n\x1b[2Jy", 1)
	over := evil
	over.Left = -time.Second
	free := Lock{Name: "a"}
	for want, c := range map[string]Change{
		`a: held by x\n\x1b[2Jy, token 1`:  {Kind: Held, Lock: &evil, Before: &free},
		`a: free, was held by x\n\x1b[2Jy`: {Kind: Free, Lock: &free, Before: &evil},
		`a: free`:                          {Kind: Free, Lock: &free},
		`a: 0 waiting`:                     {Kind: Waiting, Lock: &free, Before: &evil},
		`a: its lease ended 1s ago; nobody holds it; it was held by x\n\x1b[2Jy`: {Kind: Lapsed, Lock: &over, Before: &evil},
		`the backend is unreachable: down\nreally`:                               {Kind: Unreachable, Trouble: errors.New("down\nreally")},
		`the backend is reachable`:                                               {Kind: Reachable},
	} {
		c.Time = now
		if got := c.Line(); !strings.HasSuffix(got, "0 "+want) || strings.ContainsAny(got, "\n\x1b") {
			t.Errorf("%q; want %q", got, want)
		}
		b, err := json.Marshal(c.JSON())
		if err != nil || strings.Contains(string(b), `\u001b`) {
			t.Errorf("JSON: %s, %v", b, err)
		}
	}
}

func TestChangeJSON(t *testing.T) {
	t.Parallel()
	was, is := held("a", "x", 1), held("a", "y", 2)
	b, err := json.Marshal(Change{Time: now, Kind: Held, Lock: &is, Before: &was}.JSON())
	want := `{"v":1,"time":"2026-11-21T12:00:00Z","event":"held","previous":"x","lock":"a","state":"held","holder":"y","run_id":"run-y","since":"2026-11-21T11:57:00Z","token":2}`
	if string(b) != want || err != nil {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}
