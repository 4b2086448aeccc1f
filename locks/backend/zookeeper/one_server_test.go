package zookeeper_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
)

// TestOneServer runs the tests that neither stop a server nor count what it has: each
// has a root of its own there, as a server costs a second of processor time.
func TestOneServer(t *testing.T) {
	t.Parallel()
	onOneServer(t, zktest.Options{}, []rooted{
		{"LostAnswerToCreate", testLostAnswerToCreate},
		{"LostAnswersToEverything", testLostAnswersToEverything},
		{"NoContainers", testNoContainers},
		{"NothingIsSentUnasked", testNothingIsSentUnasked},
		{"EmptyQueueMayBeALock", testEmptyQueueMayBeALock},
		{"ExpiryByForce", testExpiryByForce},
		{"ModesExcludeEachOther", testModesExcludeEachOther},
		{"SilentServer", testSilentServer},
		{"ConnectionsThatServersKeep", testConnectionsThatServersKeep},
		{"CloseIsQuick", testCloseIsQuick},
		{"PasswordReplaced", testPasswordReplaced},
		{"UsersInTurn", testUsersInTurn},
		{"LongQueue", testLongQueue},
		{"DeletionIsNotRepeated", testDeletionIsNotRepeated},
		{"StaleRequest", testStaleRequest},
		{"NodesOfOthers", testNodesOfOthers},
		{"RecordOvertaken", testRecordOvertaken},
		{"RecordAnswersLost", testRecordAnswersLost},
		{"ReadsAreCurrent", testReadsAreCurrent},
		{"CostOfListening", testCostOfListening},
		{"BreakOvertaken", testBreakOvertaken},
		{"BreakOvertakenInQueue", testBreakOvertakenInQueue},
		{"BreakInWhicheverMode", testBreakInWhicheverMode},
		{"BreakWaiter", testBreakWaiter},
		{"BreakUnheard", testBreakUnheard},
		{"ForgetOvertakenLate", testForgetOvertakenLate},
		{"ForgetStrangers", testForgetStrangers},
		{"ListDenied", testListDenied},
		{"ProbeACL", testProbeACL},
		{"ProbeNobody", testProbeNobody},
		{"ProbeBanners", testProbeBanners},
		{"Watch", testWatch},
		{"WatchAll", testWatchAll},
		{"WatchesOneLock", testWatchesOneLock},
		{"WatchLasts", testWatchLasts},
		{"WatchRenewsNothing", testWatchRenewsNothing},
		{"WatchOldServer", testWatchOldServer},
		{"WatchNobody", testWatchNobody},
	})
}

// TestServerThatKeepsContainers does so with one that deletes no empty container, as
// any server does for a minute at least.
func TestServerThatKeepsContainers(t *testing.T) {
	t.Parallel()
	onOneServer(t, zktest.Options{Java: []string{"-Dznode.container.checkIntervalMs=600000"}}, []rooted{
		{"Forget", testForget},
		{"ForgetOvertaken", testForgetOvertaken},
		{"List", testList},
	})
}

type rooted struct {
	name string
	test func(t *testing.T, s *root)
}

func onOneServer(t *testing.T, o zktest.Options, all []rooted) {
	s := &root{Server: zktest.Start(t, o)}
	for _, tt := range all {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, s.another(t))
		})
	}
}

// A root is a node of a server, and what is below it.
type root struct {
	*zktest.Server
	path string // "" is all there is
}

var roots atomic.Int32

// another makes a root beside this one.
func (r *root) another(t testing.TB) *root {
	t.Helper()
	c := r.Client()
	defer c.Close()
	path := fmt.Sprintf("/root%d", roots.Add(1))
	if _, err := c.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	return &root{Server: r.Server, path: path}
}

// URL returns the address as a leaderrun backend.
func (r *root) URL() string { return r.through(r.Addr()) }

// through returns the same by way of a proxy.
func (r *root) through(proxy string) string { return "zk://" + proxy + r.path }
