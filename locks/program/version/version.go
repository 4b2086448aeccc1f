// Package version reports what this program was built from. This is a package of its own
// because leaderrun and all its programs use it, so that they can be compared.
package version

import "runtime/debug"

// A release build sets these, the same in all programs: see LDFLAGS in the Makefile and
// ldflags in goreleaser.yaml.
var (
	number = ""
	commit = ""
	date   = "" // of the commit, as in RFC 3339
)

// A Build is what a program was built from. Unknown fields are empty.
type Build struct {
	Version  string // "devel" if unknown
	Commit   string // the full hash
	Date     string // of the commit, as in RFC 3339
	Modified bool   // built with uncommitted changes
}

// Of returns what this program was built from: what the release build has set, otherwise
// what the go command recorded about the module and its repository.
func Of() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return of(Build{Version: number, Commit: commit, Date: date}, info)
}

// Number returns only the version.
func Number() string { return Of().Version }

func of(b Build, info *debug.BuildInfo) Build {
	if b.Version == "" {
		b.Version = "devel"
		if v := info.Main.Version; v != "" && v != "(devel)" {
			b.Version = v
		}
	}
	if b.Commit != "" { // the date belongs to this commit
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
