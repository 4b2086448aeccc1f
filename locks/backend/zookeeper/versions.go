package zookeeper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A version is that of a server, such as 3.8.4.
type version [3]int

// parseVersion reads "3.8.4"; not ok: it is none.
func parseVersion(s string) (v version, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

func (v version) before(o version) bool { return slices.Compare(v[:], o[:]) < 0 }

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// A fault is one of the servers by which an ensemble may lose what it has committed
// when its leader changes, and so give a lock to two at once. Nothing else is
// listed. Which releases have the repair is known from the tags of
// github.com/apache/zookeeper.
type fault struct {
	from, fixed version // it is in from, and in fixed no more
	issue       string
}

func faults() []fault {
	return []fault{
		// A server that is sent a snapshot and then loses the leader may go on without
		// writing it to disk, and acknowledges what it is sent then before that is on
		// disk. (pulls 1224, 1445, 1657)
		{version{3, 5, 0}, version{3, 5, 10}, "ZOOKEEPER-3642, ZOOKEEPER-3911"},
		{version{3, 6, 0}, version{3, 6, 3}, "ZOOKEEPER-3642, ZOOKEEPER-3911"},
		// The repair left a race: what is acknowledged may still be being written. No
		// release of 3.5, 3.6 and 3.7 is without it. (pull 2111)
		{version{3, 5, 10}, version{3, 8, 5}, "ZOOKEEPER-4785"},
		{version{3, 9, 0}, version{3, 9, 2}, "ZOOKEEPER-4785"},
		// A server that came late passes a gap on to others once it leads. (pull 2266:
		// only 3.9.3 is affected)
		{version{3, 9, 3}, version{3, 9, 4}, "ZOOKEEPER-4925"},
	}
}

// sound is what to use instead.
const sound = "3.8.5 or 3.9.4, or a newer release of these lines"

// oldest is the first version that leaderrun works with.
var oldest = version{3, 5, 0}

// faultOf returns the fault of a version, or nil.
func faultOf(v version) *fault {
	for _, f := range faults() {
		if !v.before(f.from) && v.before(f.fixed) {
			return &f
		}
	}
	return nil
}
