package etcd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
)

func TestVersionFinding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ version, level, text, fix string }{
		{"3.7.3", "ok", "3.7.3", ""},
		{"3.7.0-rc.0", "ok", "", ""},
		{"3.6.16", "ok", "", ""},
		{"3.6.0", "ok", "", ""},
		{"3.5.2", "error", "13766", "3.5.13"},
		{"3.5.3", "error", "15247", "3.5.13"},
		{"3.5.12", "error", "15247", "3.5.13"},
		{"3.5.13", "ok", "", ""},
		{"3.4.7", "error", "11651", "3.4.31"},
		{"3.4.8", "error", "15247", "3.4.31"},
		{"3.4.31", "ok", "", ""},
		{"3.3.27", "error", "does not work with", "3.4"},
		{"2.3.8", "error", "", "3.4"},
		{"3.8.0", "ok", "", ""},
		{"4.4.0", "ok", "", ""},
		{"", "error", "", "3.4"},
		{"\x1b[2J", "error", `"\x1b[2J"`, "3.4"},
	} {
		f := versionFinding(tt.version)
		if f.Check != "version" || f.Level != tt.level || !strings.Contains(f.Text, tt.text) || !strings.Contains(f.Fix, tt.fix) || (f.Fix == "") != (tt.fix == "") {
			t.Errorf("%q: %+v; want %+v", tt.version, f, tt)
		}
	}
}

// TestFindingsOfSome checks the findings when some members have no status.
func TestFindingsOfSome(t *testing.T) {
	t.Parallel()
	leads := member{Server: locks.Server{Address: "a", Version: "3.5.4"}, status: &pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: 1}, Leader: 1}}
	cutOff := member{Server: locks.Server{Address: "b", Version: "3.6.16"}, status: &pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: 1}}}
	for _, tt := range []struct {
		members []member
		want    []string
	}{
		{[]member{{}, {}}, nil},
		{[]member{{rootOnly: true}, {}}, []string{"status warning"}},
		{[]member{{}, {rootOnly: true}, leads}, []string{"status warning", "version error", "leader ok", "cluster ok", "alarms ok", "space ok"}},
		{[]member{leads, {}, cutOff}, []string{"version error", "version ok", "leader warning", "cluster ok", "alarms ok", "space ok"}},
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

// TestManyFindings checks that the number of findings is limited, whatever servers answer.
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
