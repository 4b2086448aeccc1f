// Package lockstest is the conformance suite that every backend passes. A backend's test
// is a [Config] and one call of [Run]. The Config declares what a backend cannot do; the suite
// never guesses.
//
// Each decision is tested where it is made, and again in less than full on what stands on it:
//
//   - What a recipe alone decides is tested on the recipe, in simulated time, for every kind of
//     store: the whole suite, and deliberate defects that it must find. On real servers it is
//     tested once, with gcs for caslease. Other stores below that recipe pass the tests of a
//     store (storetest), and what depends on both: elections, faults of the network, restarts,
//     texts that nobody wrote, lists, leaks (Config.Recipe).
//   - What the pipe to a helper decides is tested in package helper, with the whole suite. The
//     backend file has no lease; leases over the pipe are tested with leaderrun-shelf, with the
//     suite; with etcd, by scripts that cut the network and kill programs; and with all backends
//     by the fault suite. One script uses each ability through each backend's own program, and
//     kills it (every-backend.txtar).
//   - The bundle runs the script of one backend, and shows that the others are linked into it.
//   - The race detector sees the recipes, and all backends but four that have next to no
//     concurrency of their own.
//
// Long tests (LEADERRUN_TEST_LONG=1) run everything that these leave out.
package lockstest

import (
	"net/url"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A Config tells the suite what to test and how to cause faults. Run calls the functions
// from several parallel tests at once, so all may share one server. But it calls Restart
// and Connections only while no other test runs. The suite logs what a nil field leaves
// untested.
type Config struct {
	// Open is the backend.
	Open locks.Opener
	// URL returns the address of a store with a prefix that no other test uses, over a
	// path that Cut can cut. Required.
	URL func(t testing.TB) *url.URL
	// TTL is the shortest lease that the server grants reliably. 0 means that a lock
	// cannot end while its process lives; tests of leases are then left out.
	TTL time.Duration
	// Recipe is set if the backend is a store below a recipe that passes the whole suite in
	// simulated time, and below another backend. What depends on the recipe alone is then
	// left to long tests.
	Recipe bool
	// MaxTTL is the longest lease that the server grants, at least four times TTL; TTL is long
	// then, too. 0 means that it grants any.
	MaxTTL time.Duration
	// SlowNames is set if the first use of a name takes a second.
	SlowNames bool
	// Polling is the longest time between two looks of a waiter that is not notified. 0
	// means that waiters are notified.
	Polling time.Duration
	// Anyway is the longest time between two looks of a waiter that is notified, in case it is
	// no more. 0 means that its renewals notice that.
	Anyway time.Duration
	// Fair is set if waiters get the lock in the order of their arrival.
	Fair bool
	// Places is set if a waiter's place in the queue is a lease, which Waiting announces
	// and Renew extends.
	Places bool
	// Unwatched is set if a holder learns of a loss only by its next renewal: Lost never
	// reports it.
	Unwatched bool
	// Observed is set if only an observer who has watched a lease for a part of its length, or
	// all of it, knows that it has ended, because the store's time is not proof.
	Observed bool
	// HTTP is set if clients speak HTTP/1.1 with the server.
	HTTP bool
	// NoSlots is set if the backend refuses to open a slot.
	NoSlots bool
	// Anonymous is set if the backend cannot report who holds a lock.
	Anonymous bool
	// Abilities are exactly those that a handle declares.
	Abilities []locks.Ability
	// Adopts is set if a handle can continue the term of another. For a locks.Remote it
	// means that the process that keeps the lock may be killed.
	Adopts bool
	// ReportsLeft and ReportsStart are set if Inspect returns Status.Left and Status.Start.
	// Without the latter a Grant need never be Clean.
	ReportsLeft, ReportsStart bool
	// WatchDelay is how much longer than at once a change may take until it is reported.
	WatchDelay time.Duration
	// AskDelay is how much longer than at once a request may take to reach a holder that
	// renews every fifth of its TTL.
	AskDelay time.Duration
	// Simulated is set if the backend and its store are in this process and take the time
	// only from package time. Each test then runs in a bubble of testing/synctest, where
	// waiting for the end of a lease costs nothing.
	Simulated bool
	// Delayed is set if nobody gets the lock for a whole lease after a term was broken: the
	// server keeps everybody out.
	Delayed bool
	// Late is how much later than its TTL the server may end a lease. 0 means 2 s.
	Late time.Duration

	// Cut makes replies (or all traffic) between the clients of that address and the
	// server vanish silently, until heal is called. Whether the traffic arrives late or
	// never is unspecified. Nil means that there is no network.
	Cut func(t testing.TB, u *url.URL, how Cut) (heal func())
	// Twin returns another address of the same store, with the same prefix, that a Cut of
	// the first does not affect (and vice versa), so that one contender can be cut off
	// and another not. Nil means that a partition is tested from one side only.
	Twin func(t testing.TB, u *url.URL) *url.URL
	// Evict deletes the lock as an operator would. Nil means that this is impossible.
	Evict func(t testing.TB, u *url.URL, name string)
	// Crash ends the holder's hold without a release and without waiting for the end of
	// the lease, if the operator or the system can do that (a killed process for flock, a
	// revoked lease for etcd). Nil means to wait for the TTL.
	Crash func(t testing.TB, u *url.URL, name string, l locks.Lock)
	// Restart stops the server of that address and starts it again with its data. Nil
	// means that there is no server.
	Restart func(t testing.TB, u *url.URL)
	// Hostile writes, in place of the lock's record, something that no leaderrun would
	// write there. Each variant is tried on a free and on a held lock. Nil means that
	// there is no record.
	Hostile []func(t testing.TB, u *url.URL, name string)
	// Foreign puts something of somebody else, which does not carry leaderrun's mark, where
	// the lock, or the one who holds it, would be. It returns a function that describes what is
	// there now. Nil means that this is impossible.
	Foreign []func(t testing.TB, u *url.URL, name string) (now func() string)
	// Crowd puts n waiters into the queue of a held lock, by writing what they would
	// write. Nil means that this is impossible.
	Crowd func(t testing.TB, u *url.URL, name string, n int)
	// HostileRecords and HostileAsks write, in place of a Recorder's text or an Asker's
	// request, something that no leaderrun would write there, while the lock is held. Nil
	// means that this is impossible.
	HostileRecords, HostileAsks []func(t testing.TB, u *url.URL, name string)
	// HostileEntries write something beside the locks of a store that is not a lock and
	// that no leaderrun would write there. Nil means that this is impossible.
	HostileEntries []func(t testing.TB, u *url.URL)
	// Connections returns how many client connections the server of that address has. Nil
	// means unknown.
	Connections func(t testing.TB, u *url.URL) int
	// Leftovers returns what is stored under the address, one line each, except for token
	// counters, records, and requests to holders. Nil means unknown.
	Leftovers func(t testing.TB, u *url.URL) []string
	// Kept returns everything that is stored under the address, one line each. Nil means
	// unknown.
	Kept func(t testing.TB, u *url.URL) []string

	ended *ended // notes the tests of a suite; nil for a single test
}
