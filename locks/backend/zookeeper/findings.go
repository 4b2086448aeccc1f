package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// findings reports on the servers.
func findings(all []probed) []locks.Finding {
	return append(versionFindings(all), limitFindings(all)...)
}

// versionFindings reports known defects. All of them concern changes of the leader, which
// a standalone server does not have.
func versionFindings(all []probed) (found []locks.Finding) {
	const check = "version"
	add := func(level, text, fix string) {
		f := locks.Finding{Check: check, Level: level, Text: text, Fix: fix}
		if !slices.Contains(found, f) {
			found = append(found, f)
		}
	}
	for _, p := range all {
		v, ok := parseVersion(p.Version)
		switch d := defectOf(v); {
		case p.Error != "":
		case p.info.refused:
			add(locks.LevelWarning, "the servers do not report their version and role", "add srvr to 4lw.commands.whitelist in zoo.cfg")
		case p.info.product == "ClickHouse Keeper":
			// github.com/ClickHouse/ClickHouse issue 116690: it does not resume sessions.
			add(locks.LevelError, "this is ClickHouse Keeper, which does not resume sessions: each renewal would lose the lock", "use Apache ZooKeeper")
		case !ok:
		case v.before(oldest):
			add(locks.LevelError, fmt.Sprintf("version %s is too old", v), fmt.Sprintf("upgrade to ZooKeeper %s or later", oldest))
		case d != nil && p.Role != "standalone":
			add(locks.LevelWarning, fmt.Sprintf("version %s may lose committed writes, and so a lock, when its leader changes (%s)", v, d.issue),
				"upgrade the servers to "+recommended)
		}
	}
	return found
}

// limitFindings reports whether servers grant different TTLs: a lease cannot be renewed on a
// server that grants less.
func limitFindings(all []probed) []locks.Finding {
	var text []string
	different := false
	var first probed
	for _, p := range all {
		if p.most == 0 {
			continue
		}
		if first.most == 0 {
			first = p
		}
		different = different || p.least != first.least || p.most != first.most
		text = append(text, fmt.Sprintf("%s from %v to %v", p.Address, p.least, p.most))
	}
	if !different {
		return nil
	}
	return []locks.Finding{{Check: "ttl", Level: locks.LevelWarning, Text: "the servers grant different ttls: " + strings.Join(text, ", "),
		Fix: "give all servers the same tickTime, minSessionTimeout and maxSessionTimeout"}}
}

// aclFinding reports who can change the locks, according to the ACL of the chroot.
func (l *lock) aclFinding(ctx context.Context) locks.Finding {
	f := locks.Finding{Check: "acl", Level: locks.LevelWarning}
	acl, err := withTempSession(ctx, l, l.chrootACL)
	root := l.settings.chroot
	switch {
	case err != nil && denied(err):
		f.Level, f.Text, f.Fix = locks.LevelError, plain(err), hintACL
	case err != nil:
		f.Text, f.Fix = "cannot read the permissions of "+root+": "+l.explain(err).Err.Error(), "see the server's log"
	case len(l.settings.users.now()) == 0:
		f.Text = "no user is given, so anybody who can connect can take and break locks"
		f.Fix = "give a user with ZK_AUTH or auth-file, and take " + root + " from the others: in zkCli, addauth digest USER:PASSWORD and setAcl " + root + " auth::cdrwa"
	case slices.ContainsFunc(acl, forAll):
		f.Text = "anybody who can connect can create and delete nodes below " + root
		f.Fix = "take it from the others: in zkCli, addauth digest USER:PASSWORD and setAcl " + root + " auth::cdrwa"
	case acl == nil:
		f.Text, f.Fix = root+" does not exist yet, so who can change it is unknown", "run doctor again: it exists then"
	default:
		f.Level, f.Text = locks.LevelOK, "the ACL of "+root+" lets world neither create nor delete nodes"
	}
	return f
}

// allLocal reports whether all servers are on this machine.
func allLocal(servers []string) bool {
	return !slices.ContainsFunc(servers, func(addr string) bool { return !hosts.Local(addr) })
}

// forAll reports whether an ACL entry lets anybody change the nodes below.
func forAll(e zk.ACL) bool {
	return e.Scheme == "world" && e.Perms&(zk.PermCreate|zk.PermDelete|zk.PermAdmin) != 0
}

// chrootACL returns the ACL of the chroot, or nil if the chroot does not exist.
func (l *lock) chrootACL(ctx context.Context, s *session) ([]zk.ACL, error) {
	acl, err := ask(ctx, s, func(c *zk.Conn) ([]zk.ACL, error) { acl, _, err := c.GetACL(l.settings.chroot); return acl, err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return acl, at(l.settings.chroot, err)
}

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
