package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// Within returns a context that ends after d, or with the test. It and what follows are single
// steps with one store, for tests of a store's own features.
func Within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Must returns the cell of a request, and fails the test if the request failed.
func Must(t *testing.T) func(caslease.Cell, error) caslease.Cell {
	return func(c caslease.Cell, err error) caslease.Cell {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// Create creates a cell.
func Create(t *testing.T, s caslease.Store, k caslease.Key) caslease.Cell {
	t.Helper()
	return Must(t)(s.Swap(Within(t, realserver.Ready), k, caslease.Cell{}, caslease.Value{State: `{"n":1}`}))
}

// IsKind checks the kind of an error, and returns what it means.
func IsKind(t *testing.T, s caslease.Store, err error, want causes.Kind) causes.Fault {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	f := s.Fault(err)
	if f.Kind != want {
		t.Errorf("%v is of the kind %d; want %d", err, f.Kind, want)
	}
	return f
}
