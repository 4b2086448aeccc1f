// Command leaderrun runs a command on exactly one machine at a time: it takes
// a lock, runs the command while renewing it, and ends the whole job before
// anyone else can hold the lock.
//
// This program is the small core: it supervises, keeps time and kills, and has
// only the file backend built in. Other backends run in helper programs of
// their own (see package locks/helper), or are linked in with -tags bundle.
package main

import (
	"os"
	"runtime/debug"

	"github.com/leaderrun/leaderrun/cmd"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/file"
	"github.com/leaderrun/leaderrun/locks/helper"
)

// Set by the release build.
var (
	version = ""
	libexec = "" // where helper programs were installed to, besides the other places they are looked for in
)

func main() { os.Exit(run()) }

func run() int {
	registry := new(locks.Registry)
	registry.Register("file", file.Open)
	bundle(registry)
	programs := helper.Programs{Libexec: libexec, Known: cmd.KnownHelpers(), Linked: registry.Schemes()}
	registry.Fallback = programs.Open
	return cmd.Main(os.Args, cmd.Env{Version: buildVersion(), Registry: registry, Programs: programs})
}

// buildVersion is the release's, or what go install was asked for.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
