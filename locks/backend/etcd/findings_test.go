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
		{"3.7.3", "", "", ""},
		{"3.7.0-rc.0", "", "", ""},
		{"3.6.16", "", "", ""},
		{"3.6.0", "", "", ""},
		{"3.5.2", "error", "13766", "3.5.13"},
		{"3.5.3", "error", "15247", "3.5.13"},
		{"3.5.12", "error", "15247", "3.5.13"},
		{"3.5.13", "", "", ""},
		{"3.4.7", "error", "11651", "3.4.31"},
		{"3.4.8", "error", "15247", "3.4.31"},
		{"3.4.31", "", "", ""},
		{"3.3.27", "error", "does not work with", "3.4"},
		{"2.3.8", "error", "", "3.4"},
		{"3.8.0", "", "", ""},
		{"4.4.0", "", "", ""},
		{"", "error", "", "3.4"},
		{"\x1b[2J", "error", `"\x1b[2J"`, "3.4"},
	} {
		f := versionFinding(tt.version, false)
		if (f.Text != "") != (tt.level != "") || tt.level != "" && f.Level != tt.level || !strings.Contains(f.Text, tt.text) || !strings.Contains(f.Fix, tt.fix) {
			t.Errorf("%q: %+v; want %+v", tt.version, f, tt)
		}
	}
}

// TestAlone checks that a defect that needs two members is a warning where there is one.
func TestAlone(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"3.4.23": locks.LevelWarning, "3.5.12": locks.LevelWarning, "3.4.7": locks.LevelError, "3.5.2": locks.LevelError, "3.3.27": locks.LevelError} {
		if f := versionFinding(version, true); f.Level != want || f.Text == "" {
			t.Errorf("%s: %+v; want %s", version, f, want)
		}
	}
}

// TestFindingsOfSome checks the findings when some members have no status.
func TestFindingsOfSome(t *testing.T) {
	t.Parallel()
	some := func(version string, cluster uint64) member {
		return member{Server: locks.Server{Address: version, Version: version}, status: &pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: cluster}}}
	}
	for _, tt := range []struct {
		members []member
		want    []string
	}{
		{[]member{{}, {}}, nil},
		{[]member{{}, some("3.6.16", 1), some("3.7.1", 1)}, []string{"cluster ok"}},
		{[]member{some("3.5.4", 1), {}, some("3.6.16", 1), some("3.5.4", 1)}, []string{"version error", "cluster ok"}},
		{[]member{some("3.6.16", 1), some("3.6.16", 2)}, []string{"cluster error"}},
	} {
		var got []string
		for _, f := range findings(tt.members) {
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
		members = append(members, member{Server: locks.Server{Version: fmt.Sprintf("3.5.%d", i)}, status: &pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: uint64(i)}}})
	}
	if n := len(findings(members)); n > locks.MaxFindings-5 {
		t.Errorf("%d findings about the cluster", n)
	}
}
