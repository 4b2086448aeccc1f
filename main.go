// Command leaderrun runs a command on at most one machine at a time: it takes
// a lock, runs the command while renewing it, and ends the whole job before
// anyone else can hold the lock.
//
// This program is the small core: it supervises, keeps time and kills, and has
// only the file backend built in. Other backends run in helper programs of
// their own (see package locks/helper), or are linked in with -tags bundle.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/cmd"
)

// libexec is where helper programs were installed to, besides the other places they
// are looked for in. The release build sets it; see LDFLAGS in the Makefile.
var libexec = ""

func main() { os.Exit(cmd.Main(os.Args, cmd.NewEnv(libexec))) }
