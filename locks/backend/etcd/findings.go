package etcd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
)

// findings reports on the members that have a status. It is silent about what is well, but
// for the cluster.
func findings(all []member) []locks.Finding {
	up := slices.DeleteFunc(slices.Clone(all), func(m member) bool { return m.status == nil })
	if len(up) == 0 {
		return nil
	}
	return slices.Concat(versionFindings(up), clusterFindings(up), proxyFindings(up), corruptFindings(up))
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

// proxyTTL is the shortest lease that leaves enough time for renewals through a proxy: an
// attempt has two fifteenths of it.
const proxyTTL = "12s"

func proxyFindings(up []member) []locks.Finding {
	proxies := addresses(up, func(m member) bool { return m.proxied })
	if proxies == "" {
		return nil
	}
	return []locks.Finding{{
		Check: "proxy", Level: locks.LevelWarning,
		Text: "etcd's grpc-proxy hides the members, which were not checked one by one, and a renewal through it takes one second, or one and a half: " + proxies,
		Fix:  "give the addresses of the servers, or use --ttl " + proxyTTL + " or more",
	}}
}

// clusterFindings reports whether the addresses belong to one cluster: different clusters
// have different locks.
func clusterFindings(up []member) []locks.Finding {
	clusters := map[uint64][]string{}
	for _, m := range up {
		id := m.status.Header.GetClusterId()
		clusters[id] = append(clusters[id], m.Address)
	}
	var groups []string
	for _, addrs := range slices.SortedFunc(maps.Values(clusters), slices.Compare) {
		groups = append(groups, strings.Join(addrs, ", "))
	}
	f := locks.Finding{Check: "cluster", Level: locks.LevelOK, Text: "all addresses that answer belong to one cluster"}
	if len(groups) > 1 {
		f = locks.Finding{Check: "cluster", Level: locks.LevelError, Text: "the addresses belong to different clusters: " + strings.Join(groups, "; "), Fix: "give only addresses of one cluster"}
	}
	return []locks.Finding{f}
}

// corruptFindings reports the alarm of members whose data differ, and which may so show
// different leaders. Every member's status has all alarms.
func corruptFindings(up []member) []locks.Finding {
	corrupt := func(status string) bool {
		_, alarm, _ := strings.Cut(status, "alarm:")
		return strings.TrimSpace(alarm) == pb.AlarmType_CORRUPT.String()
	}
	if !slices.ContainsFunc(up, func(m member) bool { return slices.ContainsFunc(m.status.Errors, corrupt) }) {
		return nil
	}
	return []locks.Finding{{Check: "alarms", Level: locks.LevelError, Text: "CORRUPT: the members' data differ", Fix: "see https://etcd.io/docs/latest/op-guide/data_corruption/"}}
}

func authFinding(on, known bool, user string) locks.Finding {
	f := locks.Finding{Check: "authentication", Level: locks.LevelOK}
	switch {
	case !known:
		f.Level, f.Text, f.Fix = locks.LevelWarning, "cannot find out whether authentication is on", "see etcdctl auth status"
	case on && user == "":
		f.Level, f.Text, f.Fix = locks.LevelError, "authentication is on, and takes us for nobody", "set ETCDCTL_USER and ETCDCTL_PASSWORD, or correct them"
	case on:
		f.Text = fmt.Sprintf("authentication is on; we are %q", user)
	default:
		f.Level, f.Text = locks.LevelWarning, "authentication is off: anybody who can connect can take and break locks"
		f.Fix = "turn it on: etcdctl auth enable"
	}
	return f
}

// findings reports on the settings alone.
func (s *settings) findings() []locks.Finding {
	f := locks.Finding{Check: "encryption", Level: locks.LevelWarning}
	switch {
	case s.tls == nil && s.user != "":
		f.Text, f.Fix = "the password goes over the network unencrypted", "enable TLS on the servers, and give cacert=FILE"
	case s.tls != nil && s.tls.Config().InsecureSkipVerify:
		f.Text, f.Fix = "the servers' certificates are not verified", "unset ETCDCTL_INSECURE_SKIP_TLS_VERIFY"
	default:
		return nil
	}
	return []locks.Finding{f}
}

// oldestMinor is the oldest release line of etcd, 3.x, that leaderrun works with.
const oldestMinor = 4

// A defect is in the releases of the line 3.minor before 3.minor.fixed.
type defect struct {
	minor, fixed int
	text         string
	others       bool // it needs another member
}

// defects lists those that can give a lock to two leaders, or lose an acknowledged write,
// whatever leaderrun does. The releases are those of etcd's change logs
// (github.com/etcd-io/etcd, CHANGELOG/CHANGELOG-3.x.md), and, for 3.5.2 and before, of the
// recommendation in CHANGELOG/README.md there. Other defects are not listed: a watch may
// miss events (#17529), but renewals also read the queue; a renewal may succeed just after
// the end of a lease (#14758), but then it is too late for the holder.
func defects() []defect {
	const (
		// Members that differ show different leaders of one queue.
		crash = "after a crash under load the members' data may differ (etcd-io/etcd#13766)"
		auth  = "with authentication on, the members' data may differ (etcd-io/etcd#11651)"
		// The next waiter leads before the holder's lease ends, because another member has
		// renewed it. The same defect also makes such a leader renew leases by itself, which
		// Renew detects.
		early = "a leader that had stalled may end leases too early (etcd-io/etcd#15247)"
	)
	return []defect{{5, 3, crash, false}, {4, 8, auth, false}, {5, 13, early, true}, {4, 31, early, true}}
}

// versionFindings reports each release with a defect. There may be several during an upgrade.
func versionFindings(up []member) (all []locks.Finding) {
	var seen []string
	for _, m := range up {
		if f := versionFinding(m.Version, m.alone); f.Text != "" && !slices.Contains(seen, m.Version) && len(seen) < 8 {
			seen, all = append(seen, m.Version), append(all, f)
		}
	}
	return all
}

// versionFinding has no text if no defect is known. A defect that needs another member is a
// warning if the member is alone.
func versionFinding(version string, alone bool) locks.Finding {
	f := locks.Finding{Check: "version", Level: locks.LevelError}
	var major, minor, patch int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 3 || major < 3 || major == 3 && minor < oldestMinor {
		f.Text, f.Fix = fmt.Sprintf("leaderrun does not work with version %q", version), fmt.Sprintf("upgrade to 3.%d or later", oldestMinor)
		return f
	}
	var texts []string
	f.Level = locks.LevelWarning
	for _, d := range defects() {
		if major == 3 && d.minor == minor && patch < d.fixed {
			text := d.text
			if d.others && alone {
				text = "in a cluster of several members, " + text
			} else {
				f.Level = locks.LevelError
			}
			texts = append(texts, text)
			f.Fix = fmt.Sprintf("upgrade to 3.%d.%d or later", minor, d.fixed)
		}
	}
	if len(texts) > 0 {
		f.Text = version + ": " + strings.Join(texts, "; ")
	}
	return f
}
