package zookeeper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A version is a server's, such as 3.8.4.
type version [3]int

// parseVersion reads a version such as "3.8.4", and reports whether it is one.
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

// A defect is in the releases from from on and before fixed.
type defect struct {
	from, fixed version
	issue       string
}

// defects lists those with which an ensemble may lose a committed write when its leader
// changes, and so give a lock to two holders. No others are listed. The tags of
// github.com/apache/zookeeper show which releases have the repair.
func defects() []defect {
	return []defect{
		// A server that receives a snapshot and then loses the leader may continue
		// without writing the snapshot to disk, and acknowledge later writes before they
		// are on disk (3642, 3911; pulls 1224, 1445, 1657). The repair, in 3.5.10 and 3.6.3,
		// left a race (4785): a write may be acknowledged before it is on disk. No release of
		// 3.5, 3.6 and 3.7 has the repair of this race. (pull 2111)
		{version{3, 5, 0}, version{3, 8, 5}, "ZOOKEEPER-4785, and before 3.5.10 and 3.6.3 ZOOKEEPER-3911"},
		{version{3, 9, 0}, version{3, 9, 2}, "ZOOKEEPER-4785"},
		// A server that joined late may lack writes, and the others lose them when it
		// leads. (pull 2266: only 3.9.3 is affected)
		{version{3, 9, 3}, version{3, 9, 4}, "ZOOKEEPER-4925"},
	}
}

// recommended says which versions have no known defect.
const recommended = "3.8.5 or 3.9.4, or a newer release of these lines"

// oldest is the first version that leaderrun works with.
var oldest = version{3, 5, 0}

// defectOf returns the defect of a version, or nil.
func defectOf(v version) *defect {
	for _, f := range defects() {
		if !v.before(f.from) && v.before(f.fixed) {
			return &f
		}
	}
	return nil
}
