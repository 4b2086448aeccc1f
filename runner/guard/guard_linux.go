package guard

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// rename gives us a name that "pkill -KILL leaderrun" does not match, so that we are left to
// end the job. Otherwise the name would be "exe", because we were started from /proc.
func rename() {
	if f, err := os.OpenFile("/proc/self/comm", os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString("lr-guard")
		_ = f.Close()
	}
}

// jobAttr returns how to start a job: in its own group, and so that the kernel kills it if
// its guard dies.
func jobAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// attend reports whether it is time to kill the job. It is called again and again while all
// of a job's processes are signalled, which may take long. An order to kill is acknowledged
// at once, or leaderrun would take us for frozen. Orders that themselves take long wait.
func (g *guard) attend() (mustKill bool) {
	switch e, f := g.in.order(); {
	case e == hungUp:
		g.orphaned, g.killAt = true, g.host.Now()
	case e == nothing:
	case f.kind == kindKill:
		g.report(frame{kind: kindKilling})
		g.killAt = g.host.Now()
	case f.kind == kindDeadline:
		g.carryOut(f)
	default:
		g.waiting = append(g.waiting, f)
	}
	return g.mustKill()
}

// receiveFlags keep a process that is started meanwhile from inheriting a received file.
const receiveFlags = unix.MSG_CMSG_CLOEXEC

// self returns the path of this program, which works even if its file was replaced since.
func self() (string, error) { return "/proc/self/exe", nil }

// awaitEnd returns when a child has ended. It does not reap the child.
func awaitEnd(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
