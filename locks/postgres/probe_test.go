package postgres

import (
	"context"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// probe asks the servers once.
func probe(t *testing.T, s *store) locks.Servers {
	t.Helper()
	found, err := s.Probe(within(t, realserver.Ready), func(ctx context.Context, request func(context.Context) error) *locks.Error {
		if err := request(ctx); err != nil {
			return &locks.Error{Class: locks.ErrUnavailable, Err: err}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
