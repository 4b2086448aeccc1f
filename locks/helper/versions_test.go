package helper

import (
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/program/version"
)

// TestVersions checks that each installed program reports its version, or why it cannot
// be used, and that linked backends are not started.
func TestVersions(t *testing.T) {
	t.Parallel()
	p := stageFor(t, "fake", "file", "garbage", "half", "stranger", "twohellos")
	p.Known = []string{"absent"}
	got := map[string]Program{}
	for _, f := range p.Versions(t.Context(), []string{"file"}) {
		got[f.Scheme] = f
	}
	for _, tt := range []struct{ scheme, version, err string }{
		{"fake", version.Number(), ""},
		{"twohellos", "1", ""},
		{"absent", "", "the helper program leaderrun-absent is not installed"},
		{"garbage", "", "leaderrun-garbage sent line 1, which is not a message of the protocol"},
		{"half", "", "leaderrun-half sent an incomplete last line"},
		{"stranger", "", "leaderrun-stranger sent line 1: a hello for another scheme"},
		{"monitor", "", "the program leaderrun-monitor is not installed"},
	} {
		f, ok := got[tt.scheme]
		err := ""
		if f.Err != nil {
			err = f.Err.Error()
		}
		if !ok || f.Version != tt.version || err != tt.err {
			t.Errorf("%s: got version %q and error %q, want %q and %q", tt.scheme, f.Version, err, tt.version, tt.err)
		}
		if started := f.Path != ""; started == strings.Contains(tt.err, "not installed") {
			t.Errorf("%s: the path is %q", tt.scheme, f.Path)
		}
	}
	if f, ok := got["file"]; ok {
		t.Errorf("a linked backend was searched for: %+v", f)
	}
}

// TestVersionInTime checks that a silent program is not waited for forever.
func TestVersionInTime(t *testing.T) {
	t.Parallel()
	p := stageFor(t, "deaf")
	ctx := within(t, 100*time.Millisecond)
	begun := time.Now()
	for _, f := range p.Versions(ctx, nil) {
		if f.Scheme != "deaf" {
			continue
		}
		if f.Err == nil || f.Err.Error() != "leaderrun-deaf did not report its version in time" {
			t.Errorf("got version %q and error %v", f.Version, f.Err)
		}
		if took := time.Since(begun); took > limit {
			t.Errorf("Versions waited %v", took)
		}
		return
	}
	t.Error("leaderrun-deaf was not found")
}
