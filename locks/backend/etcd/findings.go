package etcd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
)

// fullAt is the share of its quota from which on a database is nearly full.
const fullAt = 0.8

// clusterFindings reports on the members' status, if any has one.
func clusterFindings(all []member) []locks.Finding {
	var denied []locks.Finding
	if slices.ContainsFunc(all, func(m member) bool { return m.rootOnly }) {
		denied = []locks.Finding{{Check: "status", Level: locks.LevelWarning, Text: "only root may read the servers' status",
			Fix: "probe as the user root, or upgrade to 3.5.32, 3.6.12 or later"}}
	}
	up := slices.DeleteFunc(slices.Clone(all), func(m member) bool { return m.status == nil })
	if len(up) == 0 {
		return denied
	}
	return slices.Concat(
		denied,
		versionFindings(up),
		[]locks.Finding{leaderFinding(up), clusterFinding(up)},
		learnerFindings(up),
		proxyFindings(up),
		alarmFindings(up),
		[]locks.Finding{spaceFinding(up)},
	)
}

// addresses returns those of the members for which is returns true.
func addresses(all []member, is func(member) bool) string {
	var found []string
	for _, m := range all {
		if is(m) {
			found = append(found, m.Address)
		}
	}
	return strings.Join(found, ", ")
}

func leaderFinding(up []member) locks.Finding {
	without := addresses(up, func(m member) bool { return m.status.Leader == 0 })
	with := addresses(up, func(m member) bool { return m.status.Leader != 0 })
	switch {
	case without == "":
		return locks.Finding{Check: "leader", Level: locks.LevelOK, Text: "the cluster has one"}
	case with == "":
		return locks.Finding{Check: "leader", Level: locks.LevelError, Text: "no member knows of a leader: there is no quorum",
			Fix: "start the members that are down, or repair the network between them"}
	}
	return locks.Finding{Check: "leader", Level: locks.LevelWarning, Text: "cut off from the leader: " + without,
		Fix: "repair the network between the members"}
}

func learnerFindings(up []member) []locks.Finding {
	learners := addresses(up, func(m member) bool { return m.status.IsLearner })
	if learners == "" {
		return nil
	}
	f := locks.Finding{Check: "learners", Level: locks.LevelWarning, Text: "learners have no vote and refuse locks: " + learners,
		Fix: "omit these addresses, or let the members vote: etcdctl member promote ID"}
	if addresses(up, func(m member) bool { return !m.status.IsLearner }) == "" {
		f.Level = locks.LevelError
	}
	return []locks.Finding{f}
}

// proxyTTL is the shortest lease that leaves enough time for renewals through a proxy: an
// attempt has two fifteenths of it.
const proxyTTL = "12s"

func proxyFindings(up []member) []locks.Finding {
	proxies := addresses(up, func(m member) bool { return m.proxied })
	if proxies == "" {
		return nil
	}
	return []locks.Finding{{Check: "proxy", Level: locks.LevelWarning, Text: "a renewal through etcd's grpc-proxy takes one second, or one and a half: " + proxies,
		Fix: "give the addresses of the servers, or use --ttl " + proxyTTL + " or more"}}
}

// clusterFinding reports whether the addresses belong to one cluster: different clusters
// have different locks.
func clusterFinding(up []member) locks.Finding {
	clusters := map[uint64][]string{}
	for _, m := range up {
		id := m.status.Header.GetClusterId()
		clusters[id] = append(clusters[id], m.Address)
	}
	if len(clusters) == 1 {
		return locks.Finding{Check: "cluster", Level: locks.LevelOK, Text: "all addresses belong to one cluster"}
	}
	var groups []string
	for _, addrs := range slices.SortedFunc(maps.Values(clusters), slices.Compare) {
		groups = append(groups, strings.Join(addrs, ", "))
	}
	return locks.Finding{Check: "cluster", Level: locks.LevelError, Text: "the addresses belong to different clusters: " + strings.Join(groups, "; "),
		Fix: "give only addresses of one cluster"}
}

// alarmFindings reports the cluster's alarms. Every member's status has all of them.
func alarmFindings(up []member) (all []locks.Finding) {
	alarms := map[string]bool{}
	for _, m := range up {
		for _, e := range m.status.Errors {
			if _, alarm, ok := strings.Cut(e, "alarm:"); ok {
				alarms[strings.TrimSpace(alarm)] = true
			}
		}
	}
	for _, alarm := range slices.Sorted(maps.Keys(alarms)) {
		f := locks.Finding{Check: "alarms", Level: locks.LevelError, Text: "the cluster has the alarm " + alarm, Fix: "etcdctl alarm list"}
		switch alarm {
		case pb.AlarmType_NOSPACE.String():
			f.Text, f.Fix = "NOSPACE: the database is full, and nobody can write", "compact, defragment, then etcdctl alarm disarm"
		case pb.AlarmType_CORRUPT.String():
			f.Text, f.Fix = "CORRUPT: the members' data differ", "see https://etcd.io/docs/latest/op-guide/data_corruption/"
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		all = []locks.Finding{{Check: "alarms", Level: locks.LevelOK, Text: "none"}}
	}
	return all[:min(len(all), 8)]
}

// spaceFinding reports on the fullest database. Servers before 3.6 do not report the
// quota.
func spaceFinding(up []member) locks.Finding {
	share := func(m member) float64 { return float64(m.status.DbSize) / float64(max(m.status.DbSizeQuota, 1)) }
	m := slices.MaxFunc(up, func(a, b member) int { return cmp.Compare(share(a), share(b)) })
	size, quota := m.status.DbSize, m.status.DbSizeQuota
	f := locks.Finding{Check: "space", Level: locks.LevelOK, Text: fmt.Sprintf("the database has %s", megabytes(size))}
	if quota > 0 {
		f.Text += " of " + megabytes(quota)
	}
	if quota > 0 && float64(size) >= fullAt*float64(quota) {
		f.Level, f.Text = locks.LevelWarning, m.Address+": "+f.Text
		f.Fix = "compact and defragment, or raise --quota-backend-bytes"
	}
	return f
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func (l *lock) readFinding(err error) locks.Finding {
	f := locks.Finding{Check: "read", Level: locks.LevelOK, Text: "the keys under " + l.prefix + " can be read"}
	if err != nil {
		why := l.explain(err)
		f = locks.Finding{Check: "read", Level: locks.LevelError, Text: fmt.Sprintf("the keys under %s: %v", l.prefix, why.Err), Fix: why.Hint}
	}
	return f
}

func (l *lock) authFinding(on, known bool, user string) locks.Finding {
	f := locks.Finding{Check: "authentication", Level: locks.LevelOK}
	switch {
	case !known:
		f.Text = "cannot find out whether authentication is on"
	case on && user == "":
		f.Level, f.Text, f.Fix = locks.LevelError, "authentication is on, but no user is given", "set ETCDCTL_USER and ETCDCTL_PASSWORD"
	case on:
		f.Text = fmt.Sprintf("authentication is on; we are %q", user)
	case l.settings.user != "":
		f.Level, f.Text = locks.LevelWarning, fmt.Sprintf("a user is given (%q), but authentication is off", l.settings.user)
		f.Fix = "omit the user, or turn authentication on: etcdctl auth enable"
	default:
		f.Text = "authentication is off: anybody who can connect can do everything"
	}
	return f
}

// findings reports on the settings alone.
func (s *settings) findings() []locks.Finding {
	f := locks.Finding{Check: "encryption", Level: locks.LevelWarning}
	switch {
	case s.tls == nil && s.user == "":
		return nil
	case s.tls == nil:
		f.Text, f.Fix = "the password goes over the network unencrypted", "enable TLS on the servers, and give cacert=FILE"
	case s.tls.Config().InsecureSkipVerify:
		f.Text, f.Fix = "the servers' certificates are not verified", "unset ETCDCTL_INSECURE_SKIP_TLS_VERIFY"
	default:
		return nil
	}
	return []locks.Finding{f}
}
