package etcd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ version, level, text, fix string }{
		{"3.7.3", "ok", "3.7.3", ""},
		{"3.7.0-rc.0", "ok", "", ""},
		{"3.6.16", "ok", "", ""},
		{"3.6.4", "warning", "14758", "3.6.5"},
		{"3.5.2", "error", "13766", "3.5.23"},
		{"3.5.3", "error", "disk hangs", "3.5.23"},
		{"3.5.13", "warning", "14758", "3.5.23"},
		{"3.5.23", "ok", "", ""},
		{"3.4.7", "error", "11651", "3.4.38"},
		{"3.4.23", "error", "disk hangs", "3.4.38"},
		{"3.4.31", "warning", "14758", "3.4.38"},
		{"3.4.45", "ok", "", ""},
		{"3.3.27", "error", "none that leaderrun works with", "3.4"},
		{"2.3.8", "error", "", "3.4"},
		{"3.8.0", "ok", "newer", ""},
		{"4.0.0", "ok", "newer", ""},
		{"", "error", "", "3.4"},
		{"\x1b[2J", "error", `"\x1b[2J"`, "3.4"},
	} {
		f := judge(tt.version)
		if f.Check != "version" || f.Level != tt.level || !strings.Contains(f.Text, tt.text) || !strings.Contains(f.Fix, tt.fix) || (f.Fix == "") != (tt.fix == "") {
			t.Errorf("%q: %+v; want %+v", tt.version, f, tt)
		}
	}
}

// TestFindingsOfSome: what members tell is judged, although others tell nothing.
func TestFindingsOfSome(t *testing.T) {
	t.Parallel()
	tells := member{Server: locks.Server{Address: "a", Version: "3.6.4"}, status: &pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: 1}, Leader: 1}}
	cutOff := member{Server: locks.Server{Address: "b", Version: "3.6.16"}, status: &pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: 1}}}
	for _, tt := range []struct {
		members []member
		want    []string
	}{
		{[]member{{}, {}}, nil},
		{[]member{{rootOnly: true}, {}}, []string{"status warning"}},
		{[]member{{}, {rootOnly: true}, tells}, []string{"status warning", "version warning", "leader ok", "cluster ok", "alarms ok", "space ok"}},
		{[]member{tells, {}, cutOff}, []string{"version warning", "version ok", "leader warning", "cluster ok", "alarms ok", "space ok"}},
		{[]member{cutOff, {}, {}}, []string{"version ok", "leader error", "cluster ok", "alarms ok", "space ok"}},
	} {
		var got []string
		for _, f := range clusterFindings(tt.members) {
			got = append(got, f.Check+" "+f.Level)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestManyFindings: whatever servers say, there are not more than there may be.
func TestManyFindings(t *testing.T) {
	t.Parallel()
	var members []member
	for i := range locks.MaxServers {
		m := member{Server: locks.Server{Version: fmt.Sprintf("3.7.%d", i)}, status: &pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: uint64(i)}}}
		for j := range 10 {
			m.status.Errors = append(m.status.Errors, fmt.Sprintf("memberID:1 alarm:%d.%d", i, j))
		}
		members = append(members, m)
	}
	if n := len(clusterFindings(members)); n > locks.MaxFindings-5 {
		t.Errorf("%d findings about the cluster", n)
	}
}
