// Package version tells what this program was built from. leaderrun and all programs
// that belong to it have it, to be compared with each other.
package version

import "runtime/debug"

// What a release build sets, in all programs alike: see LDFLAGS in the Makefile and
// ldflags in goreleaser.yaml.
var (
	number = ""
	commit = ""
	date   = "" // of the commit, as in RFC 3339
)

// A Build is what a program was built from. What is not known is empty.
type Build struct {
	Version  string // "devel" if there is none
	Commit   string // the full hash
	Date     string // of the commit, as in RFC 3339
	Modified bool   // there were changes that no commit has
}

// Of returns what this program was built from: what the release build has set, or else
// what the go command recorded of the module and of the repository it was built in.
func Of() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return of(Build{Version: number, Commit: commit, Date: date}, info)
}

// Number returns the version alone.
func Number() string { return Of().Version }

func of(b Build, info *debug.BuildInfo) Build {
	if b.Version == "" {
		b.Version = "devel"
		if v := info.Main.Version; v != "" && v != "(devel)" {
			b.Version = v
		}
	}
	if b.Commit != "" { // then the date belongs to it
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
