package gcs_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// list returns all pages of a listing, by the names of the locks.
func list(t *testing.T, l locks.Lock) map[string]locks.Listed {
	t.Helper()
	all, _ := drive.List(t, l.(locks.Lister))
	return all
}

// TestListOfALongPrefix checks that a cursor that is too long to be returned is an error.
func TestListOfALongPrefix(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	answering(s, map[string]string{"list": `{"items":[{"name":"p/a","generation":"1"}],"nextPageToken":"` + strings.Repeat("x", locks.MaxCursor+1) + `"}`})
	_, _, err := at(t, s, patiently("a")).(locks.Lister).List(drive.Context(t), "")
	if n := verbs(s); !errors.Is(err, locks.ErrUsage) || n["list"] != 1 {
		t.Errorf("got %v after %v", err, n)
	}
}

// TestListPages lists more locks than a page has, each with as much metadata as the
// service keeps.
func TestListPages(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	const n = 2*locks.MaxList + 1
	for i := range n {
		s.SetMetadata(fmt.Sprintf("p/job-%03d", i), map[string]string{
			"leaderrun": `{"state":"free","nonce":"n","ttl_ms":1000}`, "k": strings.Repeat("x", 5000),
		})
	}
	verbs(s)
	if got := list(t, at(t, s, patiently("a"))); len(got) != n {
		t.Errorf("got %d locks, want %d", len(got), n)
	}
	if got := verbs(s); !maps.Equal(got, map[string]int{"list": 3}) {
		t.Errorf("requests: %v", got)
	}
	s.Next("list", gcstest.Fault{Status: 503, Message: "Backend Error"})
	if got := list(t, at(t, s, patiently("a"))); len(got) != n {
		t.Errorf("when a page was requested twice: got %d locks, want %d", len(got), n)
	}
}
