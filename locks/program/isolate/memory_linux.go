package isolate

import "golang.org/x/sys/unix"

// Memory keeps other processes of our user, such as the job, from reading the memory and the
// environment of this process in /proc, unless they run as root. It also ends debugging by
// the user, and core dumps.
func Memory() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
