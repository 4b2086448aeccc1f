package azblob

import (
	"net/url"
	"os"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// NewStore returns what is below a lock.
func NewStore(u *url.URL, o locks.Options) (caslease.Store, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	return newStore(s, o)
}

// Unclaimed is the state of a blob that nobody has taken yet.
const Unclaimed = unclaimed

// LeaseOfState returns the id of the lease that belongs to a state.
func LeaseOfState(state string) string { return leaseID(caslease.LeaseOf(state).Nonce) }
