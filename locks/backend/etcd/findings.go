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

// fullAt is the share of its quota at which a database is nearly full.
const fullAt = 0.8

// clusterFindings judges what the members have told, if any has.
func clusterFindings(all []member) []locks.Finding {
	var secret []locks.Finding
	if slices.ContainsFunc(all, func(m member) bool { return m.rootOnly }) {
		secret = []locks.Finding{{Check: "status", Level: locks.LevelWarning, Text: "servers tell root alone how they are",
			Fix: "probe as the user root, or upgrade to 3.5.32, 3.6.12 or later"}}
	}
	up := slices.DeleteFunc(slices.Clone(all), func(m member) bool { return m.status == nil })
	if len(up) == 0 {
		return secret
	}
	return slices.Concat(
		secret,
		versionFindings(up),
		[]locks.Finding{leaderFinding(up), clusterFinding(up)},
		learnerFindings(up),
		proxyFindings(up),
		alarmFindings(up),
		[]locks.Finding{spaceFinding(up)},
	)
}

// which names the members for which something is so.
func which(all []member, is func(*pb.StatusResponse) bool) string {
	return those(all, func(m member) bool { return is(m.status) })
}

func those(all []member, are func(member) bool) string {
	var names []string
	for _, m := range all {
		if are(m) {
			names = append(names, m.Address)
		}
	}
	return strings.Join(names, ", ")
}

func leaderFinding(up []member) locks.Finding {
	without := which(up, func(s *pb.StatusResponse) bool { return s.Leader == 0 })
	with := which(up, func(s *pb.StatusResponse) bool { return s.Leader != 0 })
	switch {
	case without == "":
		return locks.Finding{Check: "leader", Level: locks.LevelOK, Text: "there is one"}
	case with == "":
		return locks.Finding{Check: "leader", Level: locks.LevelError, Text: "no member knows of a leader: there is no quorum",
			Fix: "start the members that are down, or mend the network between them"}
	}
	return locks.Finding{Check: "leader", Level: locks.LevelWarning, Text: "cut off from the leader: " + without,
		Fix: "mend the network between the members"}
}

func learnerFindings(up []member) []locks.Finding {
	learners := which(up, func(s *pb.StatusResponse) bool { return s.IsLearner })
	if learners == "" {
		return nil
	}
	f := locks.Finding{Check: "learners", Level: locks.LevelWarning, Text: "without a vote, and so of no use for locks: " + learners,
		Fix: "omit these addresses, or let the members vote: etcdctl member promote ID"}
	if which(up, func(s *pb.StatusResponse) bool { return !s.IsLearner }) == "" {
		f.Level = locks.LevelError
	}
	return []locks.Finding{f}
}

// proxyTTL is the least lease with which renewals through a proxy have the time they take:
// an attempt has two fifteenths of it.
const proxyTTL = "12s"

func proxyFindings(up []member) []locks.Finding {
	proxies := those(up, func(m member) bool { return m.proxied })
	if proxies == "" {
		return nil
	}
	return []locks.Finding{{Check: "proxy", Level: locks.LevelWarning, Text: "etcd's grpc-proxy, with which a renewal takes one second, or one and a half: " + proxies,
		Fix: "give the addresses of the servers, or --ttl " + proxyTTL + " at least"}}
}

// clusterFinding looks for addresses of different clusters: there, each request
// would meet another lock.
func clusterFinding(up []member) locks.Finding {
	clusters := map[uint64][]string{}
	for _, m := range up {
		id := m.status.Header.GetClusterId()
		clusters[id] = append(clusters[id], m.Address)
	}
	if len(clusters) == 1 {
		return locks.Finding{Check: "cluster", Level: locks.LevelOK, Text: "all are of one cluster"}
	}
	var groups []string
	for _, addrs := range slices.SortedFunc(maps.Values(clusters), slices.Compare) {
		groups = append(groups, strings.Join(addrs, ", "))
	}
	return locks.Finding{Check: "cluster", Level: locks.LevelError, Text: "the addresses are of different clusters: " + strings.Join(groups, "; "),
		Fix: "give addresses of one cluster only"}
}

// alarmFindings tells of alarms, which members tell with their status, and all of
// them the same.
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

// spaceFinding looks at the fullest database. Servers before 3.6 do not tell the
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
