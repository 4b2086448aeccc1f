package zookeeper

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

const defaultChroot = "/leaderrun"

// settings are what a URL and the environment say.
type settings struct {
	servers []string // "host:port"
	chroot  string   // "/a/b": no slash at the end, and never the root
	unfair  bool
	tls     *certificates // nil: no TLS
	users   *users
}

// parse reads the URL, and takes what it omits from the environment. All errors
// wrap locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := known.ZooKeeper.CheckURL(u); err != nil {
		return nil, err
	}
	list, from, root := u.Host, "the zk URL", u.Path
	if list == "" {
		var inList string
		list, inList, _ = strings.Cut(getenv("ZK_HOSTS"), "/")
		from = "ZK_HOSTS"
		if strings.Trim(root, "/") == "" {
			root = inList
		}
	}
	var s settings
	var err error
	if s.servers, err = hosts.Parse(list, from, known.ZooKeeper.Port); err != nil {
		return nil, err
	}
	if s.chroot, err = chroot(root, getenv); err != nil {
		return nil, err
	}
	if s.unfair, err = unfair(u.Query().Get("mode")); err != nil {
		return nil, err
	}
	if s.users, err = newUsers(u, getenv); err != nil {
		return nil, err
	}
	if s.tls, err = newCertificates(u, getenv); err != nil {
		return nil, err
	}
	return &s, s.checkJava(u, getenv)
}

// checkJava returns an error if zkCli.sh would speak TLS or log in, but we would not.
func (s *settings) checkJava(u *url.URL, getenv func(string) string) error {
	flags := getenv("JVMFLAGS") + " " + getenv("CLIENT_JVMFLAGS")
	switch {
	case strings.Contains(flags, "-Dzookeeper.client.secure=true") && s.tls == nil && !u.Query().Has("tls"):
		return locks.Usagef("JVMFLAGS or CLIENT_JVMFLAGS says to speak TLS, but the backend zk does not read them: give cacert=, LEADERRUN_ZK_CACERT or tls=")
	case strings.Contains(flags, "-Djava.security.auth.login.config=") && s.users.one == nil && s.users.file == nil:
		return locks.Usagef("JVMFLAGS or CLIENT_JVMFLAGS says to log in with SASL, which the backend zk does not support: give a user in ZK_AUTH or with auth-file=")
	}
	return nil
}

func unfair(mode string) (bool, error) {
	switch mode {
	case "", "fair":
		return false, nil
	case "unfair":
		return true, nil
	}
	return false, locks.Usagef("invalid zk parameter mode=%q (want fair or unfair)", locks.Abbreviate(mode))
}

// chroot returns the node above all nodes that we create. It is never the root, which
// has nodes of ZooKeeper's.
func chroot(p string, getenv func(string) string) (string, error) {
	p = strings.Trim(p, "/")
	if p == "" {
		p = strings.Trim(getenv("LEADERRUN_ZK_CHROOT"), "/")
	}
	if p == "" {
		return defaultChroot, nil
	}
	if strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return "", locks.Usagef("the chroot of the zk nodes has a character that cannot be printed: %q", locks.Abbreviate(p))
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." {
			return "", locks.Usagef("the chroot of the zk nodes has %q between slashes: %q", part, locks.Abbreviate(p))
		}
	}
	if p == "zookeeper" || strings.HasPrefix(p, "zookeeper/") {
		return "", locks.Usagef("the chroot /zookeeper belongs to ZooKeeper")
	}
	return "/" + p, nil
}
