package version

import (
	"runtime/debug"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	recorded := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.0"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "c0ffee"}, {Key: "vcs.time", Value: "2026-11-21T20:31:05Z"},
			{Key: "vcs.modified", Value: "true"}},
	}
	for _, tt := range []struct {
		what string
		set  Build
		info *debug.BuildInfo
		want Build
	}{
		{"nothing known", Build{}, new(debug.BuildInfo), Build{Version: "devel"}},
		{"no version from the go command", Build{}, &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, Build{Version: "devel"}},
		{"recorded by the go command", Build{}, recorded,
			Build{Version: "v1.2.0", Commit: "c0ffee", Date: "2026-11-21T20:31:05Z", Modified: true}},
		{"make sets only the version", Build{Version: "v1.2.0-3-gc0ffee"}, recorded,
			Build{Version: "v1.2.0-3-gc0ffee", Commit: "c0ffee", Date: "2026-11-21T20:31:05Z", Modified: true}},
		{"a release sets all of it", Build{Version: "v1.3.0", Commit: "decaf", Date: "2026-12-24T00:00:00Z"}, recorded,
			Build{Version: "v1.3.0", Commit: "decaf", Date: "2026-12-24T00:00:00Z"}},
	} {
		if got := of(tt.set, tt.info); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.what, got, tt.want)
		}
	}
}
