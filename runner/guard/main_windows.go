package guard

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// role is the name by which the program becomes a guard.
const role = "leaderrun-guard"

// IsRole reports whether this process was started to be a guard. Then it must only call
// Main.
func IsRole(args []string) bool { return len(args) == 3 && args[0] == role }

// Main runs the guard. It returns the exit status.
func Main(args []string) int {
	// leaderrun acts on the signals of the console.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	pipe, err1 := strconv.ParseUint(args[1], 10, 64)
	object, err2 := strconv.ParseUint(args[2], 10, 64)
	if err1 != nil || err2 != nil {
		fmt.Fprintln(os.Stderr, role+": only leaderrun starts this program")
		return 64
	}
	g := newGuard(newConn(windows.Handle(pipe)), proc.Object(object))
	g.enclosed = proc.Enclose()
	g.run()
	return 0
}
