// Package lockstest is the conformance suite that every backend passes, linked
// and through its helper program. A backend's test is a [Config] and one call
// of [Run]; what a backend cannot do is declared in its Config, never guessed.
package lockstest

import (
	"net/url"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A Config tells the suite what it is to test and how to hurt it. Run calls
// the functions from several parallel tests at once, but for Restart and
// Connections, which it calls while no other test runs, so that all may share
// one server. What a nil field leaves untested is logged.
type Config struct {
	// Open is the backend.
	Open locks.Opener
	// URL returns the address of a store of which no other test uses the same
	// prefix, reached over a path that Cut can cut. Required.
	URL func(t testing.TB) *url.URL
	// TTL is the shortest lease the server grants reliably. 0 says that a lock
	// cannot end while its process lives; what concerns leases is not tested.
	TTL time.Duration
	// Polling is the longest time between two looks of a waiter that is not
	// notified. 0: waiters are notified.
	Polling time.Duration
	// Fair says that waiters get the lock in the order of their arrival.
	Fair bool
	// Places says that a waiter's place in the queue is a lease, which Waiting
	// announces and Renew extends.
	Places bool
	// Unwatched says that a holder learns of a loss by its next renewal only:
	// Lost never tells.
	Unwatched bool
	// Observed says that a lease which was not renewed is known to be over only to who
	// has watched it for its whole length, as the store tells no time.
	Observed bool
	// Anonymous says that the backend cannot tell who holds a lock.
	Anonymous bool
	// Abilities are those that a handle declares, all of them and no others.
	Abilities []locks.Ability
	// Adopts says that a handle can go on with the term of another; of a locks.Remote,
	// that the process may be killed which keeps the lock.
	Adopts bool
	// TellsLeft and TellsStart say that Inspect tells Status.Left and Status.Start.
	// Without the latter a Grant need never be Clean.
	TellsLeft, TellsStart bool
	// WatchesOne says that the backend can watch one lock, but not all.
	WatchesOne bool
	// WatchDelay is how much longer than at once it may take until a change is
	// told to who watches.
	WatchDelay time.Duration
	// AskDelay is how much longer than at once it may take a holder, who renews
	// every fifth of its TTL, to hear what it is asked.
	AskDelay time.Duration
	// Simulated says that the backend and its store are of this process, and know
	// time by package time alone. Each test then runs in a bubble of testing/synctest,
	// where to wait for the end of a lease costs nothing.
	Simulated bool
	// Late is how much later than its TTL the server may end a lease. 0 means 2 s.
	Late time.Duration

	// Cut makes replies (or all traffic) between the clients of that address
	// and the server vanish silently, until heal is called. Whether what was
	// said meanwhile arrives late or never is open. Nil: no network.
	Cut func(t testing.TB, u *url.URL, how Cut) (heal func())
	// Twin returns another address of the store of that address, with the same
	// prefix, which Cut of the first leaves alone (and the other way round), so
	// that one contender can be cut off and another not. Nil: a partition is
	// seen from its one side only.
	Twin func(t testing.TB, u *url.URL) *url.URL
	// Evict deletes the lock as an operator would. Nil: cannot be.
	Evict func(t testing.TB, u *url.URL, name string)
	// Crash ends the holder's hold without a release and without waiting for
	// the lease to run out, if the operator or the system can do that (a killed
	// process for flock, a revoked lease for etcd). Nil: wait for the TTL.
	Crash func(t testing.TB, u *url.URL, name string, l locks.Lock)
	// Restart stops the server of that address and starts it again with its
	// data. Nil: there is no server.
	Restart func(t testing.TB, u *url.URL)
	// Hostile writes, where the lock's record is stored, something that no
	// leaderrun would write there. Each variant is tried, on a lock that is free
	// and on one that is held. Nil: no record.
	Hostile []func(t testing.TB, u *url.URL, name string)
	// Crowd puts n waiters into the queue of a lock that is held, by writing to
	// the server what they would write. Nil: cannot be.
	Crowd func(t testing.TB, u *url.URL, name string, n int)
	// HostileRecords and HostileAsks write, where a Recorder's text or an Asker's
	// request is stored, something that no leaderrun would write there, while
	// the lock is held. Nil: cannot be.
	HostileRecords, HostileAsks []func(t testing.TB, u *url.URL, name string)
	// HostileEntries write something beside the locks of a store that no leaderrun
	// would write there, and that is none of them. Nil: cannot be.
	HostileEntries []func(t testing.TB, u *url.URL)
	// Connections returns how many client connections the server of that
	// address has. Nil: not known.
	Connections func(t testing.TB, u *url.URL) int
	// Leftovers returns what is stored under the address, a line each, apart
	// from what the token needs, records, and requests to holders. Nil: not
	// known.
	Leftovers func(t testing.TB, u *url.URL) []string
	// Kept returns all that is stored under the address, a line each. Nil: not
	// known.
	Kept func(t testing.TB, u *url.URL) []string

	ended *ended // where tests of a suite are noted; nil: there is one test
}

// Cut says which way a network is cut.
type Cut string

// The ways of cutting.
const (
	CutReplies Cut = "replies" // requests arrive, what comes back vanishes
	CutAll     Cut = "all"     // nothing arrives either way
	CutReset   Cut = "reset"   // connections are reset and refused
)
