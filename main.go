// Command leaderrun runs a command on at most one machine at a time: it takes
// a lock, runs the command while renewing it, and ends the whole job before
// anyone else can hold the lock.
//
// This program is the small core: it supervises, keeps time and kills. It has only the file
// backend built in. Other backends run in helper programs (see package locks/helper), or
// are linked in with -tags bundle.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/cmd"
)

// libexec is the directory in which a release has installed helper programs. They are also
// looked for elsewhere. The release build sets it; see LDFLAGS in the Makefile.
var libexec = ""

func main() { os.Exit(cmd.Main(os.Args, cmd.NewEnv(libexec))) }
