//go:build unix

package guard

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// role is the name under which the program is a guard.
const role = "leaderrun-guard"

// IsRole reports whether this process was started to be a guard: then all that
// it does is to call Main.
func IsRole(args []string) bool { return len(args) == 2 && args[0] == role }

// Main is the guard's whole life. It returns the exit status.
func Main(args []string) int {
	// The first process's parent-death signal is tied to the thread that forks
	// it (golang/go#27505).
	runtime.LockOSThread()
	fd, err := strconv.Atoi(args[1])
	if err != nil || fd <= 2 {
		fmt.Fprintln(os.Stderr, role+": it is leaderrun that starts this")
		return 64
	}
	c, err := newConn(fd)
	if err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		return 70
	}
	signals.Restore() // for the job
	rename()
	threads.Reserve()
	go ignoreSignals() // while the campaign goes on
	newGuard(c, machine{}).run()
	return 0
}

// ignoreSignals drops the signals that a service manager or an operator may
// send to all processes: it is leaderrun that decides what comes of them. They
// are caught rather than ignored, as the job would inherit that; what we were
// started with ignored stays so.
func ignoreSignals() {
	all := []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}
	signal.Notify(make(chan os.Signal, 1), slices.DeleteFunc(all, signal.Ignored)...)
}
