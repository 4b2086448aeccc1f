package zookeeper_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
)

// TestOneServer runs the tests that neither stop a server nor count what it has. They share
// one server, each with its own root, because a server costs a second of processor time.
func TestOneServer(t *testing.T) {
	t.Parallel()
	onOneServer(t, zktest.Options{}, []rootTest{
		{"LostAnswerToCreate", testLostAnswerToCreate},
		{"LostAnswersToEverything", testLostAnswersToEverything},
		{"NoContainers", testNoContainers},
		{"NothingIsSentUnasked", testNothingIsSentUnasked},
		{"EmptyQueueMayBeALock", testEmptyQueueMayBeALock},
		{"ExpiryByForce", testExpiryByForce},
		{"ModesExcludeEachOther", testModesExcludeEachOther},
		{"SilentServer", testSilentServer},
		{"SilentRelease", testSilentRelease},
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
		{"ProbeUnreachable", testProbeUnreachable},
		{"ProbeServerInfo", testProbeServerInfo},
		{"WatchAll", testWatchAll},
		{"WatchesOneLock", testWatchesOneLock},
		{"WatchLasts", testWatchLasts},
		{"WatchRenewsNothing", testWatchRenewsNothing},
		{"WatchOldServer", testWatchOldServer},
		{"WatchUnreachable", testWatchUnreachable},
	})
}

// TestServerThatKeepsContainers runs tests on a server that does not delete empty
// containers: any server keeps them for at least a minute.
func TestServerThatKeepsContainers(t *testing.T) {
	t.Parallel()
	onOneServer(t, zktest.Options{Java: []string{"-Dznode.container.checkIntervalMs=600000"}}, []rootTest{
		{"Forget", testForget},
		{"ForgetOvertaken", testForgetOvertaken},
		{"List", testList},
	})
}

type rootTest struct {
	name string
	test func(t *testing.T, s *root)
}

func onOneServer(t *testing.T, o zktest.Options, all []rootTest) {
	s := &root{Server: zktest.Start(t, o)}
	for _, tt := range all {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, s.another(t))
		})
	}
}

// A root is a node of a server, with the nodes below it.
type root struct {
	*zktest.Server
	path string // "": the whole server
}

var roots atomic.Int32

// another creates another root on the same server.
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

// through returns the address through a proxy.
func (r *root) through(proxy string) string { return "zk://" + proxy + r.path }
