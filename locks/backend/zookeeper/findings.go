package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// findings reports on the servers.
func findings(all []probed, ttl time.Duration) []locks.Finding {
	return slices.Concat(quorumFindings(all), versionFindings(all), ttlFindings(all, ttl))
}

// quorumFindings reports how many servers serve. A server that cannot be reached has its
// own error.
func quorumFindings(all []probed) []locks.Finding {
	const check = "quorum"
	serve, wait := 0, 0
	for _, p := range all {
		if p.Error == "" {
			serve++
		} else if p.Error == errNoQuorum.Error() || p.Error == errReadOnly.Error() {
			wait++
		}
	}
	switch {
	case serve > 0 && wait == 0:
		return []locks.Finding{{Check: check, Level: locks.LevelOK, Text: fmt.Sprintf("%d of %d servers serve", serve, len(all))}}
	case serve > 0:
		return []locks.Finding{{Check: check, Level: locks.LevelWarning, Text: fmt.Sprintf("%d of %d servers are cut off from the others", wait, len(all)),
			Fix: "check the network between the servers, and their logs"}}
	case wait > 0:
		return []locks.Finding{{Check: check, Level: locks.LevelError, Text: "no server serves: the ensemble has no quorum",
			Fix: "start servers until more than half of them run and reach each other"}}
	}
	return nil
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
	if found == nil && slices.ContainsFunc(all, func(p probed) bool { return p.Version != "" }) {
		add(locks.LevelOK, "these versions have no known defect that loses a lock", "")
	}
	return found
}

// ttlFindings reports which TTLs are granted. Each server has its own limits,
// and a lease cannot be renewed on a server that grants less.
func ttlFindings(all []probed, ttl time.Duration) []locks.Finding {
	const check = "ttl"
	type limits struct{ least, most time.Duration }
	at := map[limits]string{}
	for _, p := range all {
		if p.most > 0 {
			at[limits{p.least, p.most}] = p.Address
		}
	}
	if len(at) > 1 {
		var text []string
		for l, address := range at {
			text = append(text, fmt.Sprintf("%s from %v to %v", address, l.least, l.most))
		}
		slices.Sort(text)
		return []locks.Finding{{Check: check, Level: locks.LevelWarning, Text: "the servers grant different ttls: " + strings.Join(text, ", "),
			Fix: "give all servers the same tickTime, minSessionTimeout and maxSessionTimeout"}}
	}
	for l := range at {
		f := locks.Finding{Check: check, Level: locks.LevelOK, Text: fmt.Sprintf("ttls from %v to %v are granted", l.least, l.most)}
		if granted := max(min(ttl, l.most), l.least); granted != ttl {
			f.Level, f.Text = locks.LevelWarning, f.Text+fmt.Sprintf("; a ttl of %v becomes %v", ttl, granted)
			f.Fix = "use a ttl in that range, or change minSessionTimeout or maxSessionTimeout in zoo.cfg"
		}
		return []locks.Finding{f}
	}
	return nil
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
		f.Text = "cannot read the permissions of " + root + ": " + l.explain(err).Err.Error()
	case len(l.settings.users.now()) == 0:
		f.Text = "no user is given, so anybody who can connect can take and break locks"
		f.Fix = "give a user with ZK_AUTH or auth-file, and take " + root + " from the others: in zkCli, addauth digest USER:PASSWORD and setAcl " + root + " auth::cdrwa"
	case slices.ContainsFunc(acl, forAll):
		f.Text = "anybody who can connect can create and delete nodes below " + root
		f.Fix = "take it from the others: in zkCli, addauth digest USER:PASSWORD and setAcl " + root + " auth::cdrwa"
	case acl == nil:
		f.Level, f.Text = locks.LevelOK, root+" does not exist yet; it will belong to the user of the first run"
	default:
		f.Level, f.Text = locks.LevelOK, "only some users can create or delete nodes below "+root
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
