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
