package zookeeper

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
)

// aboutACL tells who can meddle with the locks, by the ACL of the chroot.
func (l *lock) aboutACL(ctx context.Context) locks.Finding {
	f := locks.Finding{Check: "acl", Level: locks.LevelWarning}
	acl, err := aside(ctx, l, l.chrootACL)
	root := l.settings.chroot
	switch {
	case err != nil && denied(err):
		f.Level, f.Text, f.Fix = locks.LevelError, plain(err), hintACL
	case err != nil:
		f.Text = "who may use " + root + " cannot be told: " + l.explain(err).Err.Error()
	case len(l.settings.users.now()) == 0:
		f.Text = "whoever may connect can take and break locks, as no user is given"
		f.Fix = "give a user with ZK_AUTH or auth-file, and take " + root + " from the others: in zkCli, addauth digest USER:PASSWORD and setAcl " + root + " auth::cdrwa"
	case slices.ContainsFunc(acl, forAll):
		f.Text = "whoever may connect can make and delete nodes below " + root
		f.Fix = "take it from the others: in zkCli, addauth digest USER:PASSWORD and setAcl " + root + " auth::cdrwa"
	case acl == nil:
		f.Level, f.Text = locks.LevelOK, root+" is not there yet; it will belong to the user of whoever comes first"
	default:
		f.Level, f.Text = locks.LevelOK, "not everybody can make or delete nodes below "+root
	}
	return f
}

// forAll reports that everybody may change what is below.
func forAll(e zk.ACL) bool {
	return e.Scheme == "world" && e.Perms&(zk.PermCreate|zk.PermDelete|zk.PermAdmin) != 0
}

// chrootACL is nil if there is no chroot.
func (l *lock) chrootACL(ctx context.Context, s *session) ([]zk.ACL, error) {
	acl, err := ask(ctx, s, func(c *zk.Conn) ([]zk.ACL, error) { acl, _, err := c.GetACL(l.settings.chroot); return acl, err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return acl, at(l.settings.chroot, err)
}
