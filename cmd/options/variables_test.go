package options

import (
	"slices"
	"testing"
)

func TestMisspellings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ set, backend, want string }{
		{"LEADERRUN_BACKENDS=etcd", "file", "LEADERRUN_BACKEND"},
		{"LEADERRUN_BACKNED=etcd", "file", "LEADERRUN_BACKEND"},
		{"LEADERRUN_LOK=x", "file", "LEADERRUN_LOCK"},
		{"LEADERRUN_GCS_BUCKETS=x", "etcd", "LEADERRUN_GCS_BUCKET"},
		{"LEADERRUN_BACKENDS=", "file", ""},
		{"LEADERRUN_BACKEND=etcd", "file", ""},
		{"LEADERRUN_TOKEN=1", "file", ""},
		{"LEADERRUN_BIN=/usr/bin/leaderrun", "file", ""},
		{"LEADERRUN_DIR=/d", "file", ""},
		{"LEADERRUN_GCSS_BUCKET=x", "gcss://h", ""},
		{"BACKENDS=x", "file", ""},
		{"LEADERRUN_REQUIRE_CONTAINMENT=cgroup", "file", removed["require-containment"]},
		{"LEADERRUN_REQUIRE_CONTAINMENT=", "file", ""},
		{"LEADERRUN_TIMEOUT=3", "file", ""},
	} {
		var got string
		for _, m := range Misspellings([]string{"PATH=/bin", tt.set}, tt.backend) {
			got += m.Near + m.Instead
		}
		if got != tt.want {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
	// Nothing that we know is taken for a misspelling.
	for _, name := range variables() {
		if got := Misspellings([]string{ours + name + "=x"}, "file"); got != nil {
			t.Errorf("%v", got)
		}
	}
	if all := variables(); slices.Index(all, "TTL") < 0 || slices.Index(all, "ETCD_PREFIX") < 0 {
		t.Errorf("not all: %q", all)
	}
}
