package guard

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/terminal"
)

// A guard owns the job. It runs in the guard's process. Its fields belong to the goroutine
// in run, so that no process is signalled while it is being reaped.
type guard struct {
	conn    line
	out     outbox
	host    host
	in      inbox
	waiting []frame // orders that came during a long step

	killBy   clock.Instant
	late     time.Duration // how long after the deadline we began to kill
	passed   int64         // overdue, once the deadline has passed; else 0
	orphaned bool          // leaderrun has died

	container container
	job       int // the first process and its group; 0: not started
	ended     bool
	exit      syscall.WaitStatus // if ended
	reported  bool               // leaderrun knows that it ended
	gone      bool
	// childless says that the guard has no child, dead or alive.
	childless bool
	partial   []byte  // of a checkStart
	check     running // the health check
	dying     []int   // groups of earlier checks that have processes left, for [Pgroup]
	kills     int
	killAt    clock.Instant // when to kill again
	lookAt    clock.Instant // when to look for processes again
	sendAt    clock.Instant // when to try to send again

	tty           *terminal.Lent // nil: none
	entrusted     bool           // see orphanedEarly
	hold, release *os.File
	message       []byte
	remove        []string
}

func newGuard(c line, h host) *guard {
	return &guard{
		conn: c, out: outbox{conn: c}, host: h, in: newChannels(c, h),
		killBy: clock.Never, killAt: clock.Never, lookAt: clock.Never, sendAt: clock.Never,
	}
}

// run returns when nothing of the job is left and that was reported, or when leaderrun has
// died before there was a job, and what it has entrusted to us is done.
//
// The job decides how much there is to reap and to report. So each step of the loop is
// bounded, and begins with a look at the deadline.
func (g *guard) run() {
	g.in.open()
	defer g.in.close()
	defer g.out.drain()
	for !g.gone && (!g.orphaned || g.job != 0) {
		if g.mustKill() {
			g.kill()
			continue
		}
		if len(g.waiting) > 0 {
			f := g.waiting[0]
			if g.waiting = g.waiting[1:]; !g.carryOut(f) {
				return
			}
			continue
		}
		switch e, f := g.in.next(min(g.killBy, g.killAt, g.lookAt, g.sendAt)); e {
		case ordered:
			if !g.carryOut(f) {
				return
			}
		case hungUp:
			g.orphaned = true
			g.kill()
		case childEnded:
			g.reap()
		case moment:
			g.look()
		}
	}
	if g.orphanedEarly() {
		g.cleanUp()
	}
}

// mustKill reports whether it is time to kill the job.
func (g *guard) mustKill() bool { return g.host.Now() >= min(g.killBy, g.killAt) }

// look sends or reaps if it is time for that.
func (g *guard) look() {
	if now := g.host.Now(); now >= g.sendAt {
		g.send()
	} else if now >= g.lookAt {
		g.reap()
	}
}

// carryOut executes an order, and reports whether the guard goes on.
func (g *guard) carryOut(f frame) bool {
	switch f.kind {
	case kindFiles:
		g.closeFiles() // those of an earlier frame
		if len(f.body) == 1 && f.body[0]&filesHold != 0 {
			g.hold = g.conn.nextFile("hold")
		}
		if len(f.body) == 1 && f.body[0]&filesRelease != 0 {
			g.release = g.conn.nextFile("release")
		}
	case kindEntrust:
		g.takeOn(f)
	case kindStart:
		return g.start(f)
	case kindDeadline:
		if n, err := f.number(); err == nil {
			g.killBy = clock.Instant(n)
			g.report(f)
		}
	case kindSignal:
		g.signal(f, false)
	case kindStop:
		g.signal(f, true)
	case kindKill:
		g.report(frame{kind: kindKilling})
		g.kill()
	case kindCheckPart:
		g.partial = append(g.partial, f.body...)
	case kindCheck:
		f.body, g.partial = append(g.partial, f.body...), nil
		g.startCheck(f)
	case kindKillCheck:
		g.killCheck(f)
	}
	return true
}

// report queues a frame for leaderrun. If leaderrun has died, run sees that the socket is
// closed.
func (g *guard) report(f frame) {
	g.out.put(f)
	g.send()
}

func (g *guard) send() {
	g.sendAt = clock.Never
	if !g.out.flush() {
		g.sendAt = g.host.Now().Add(longPause)
	}
}

func (g *guard) start(f frame) bool {
	t, err := f.startOrder()
	if err != nil || g.job != 0 {
		g.report(frame{kindNotContained, []byte(errFrame.Error())})
		return false
	}
	var why string
	if g.container, why, err = g.host.container(t.containment); err != nil {
		g.report(frame{kindNotContained, []byte(err.Error())})
		return false
	}
	g.killBy, g.message, g.remove = t.killBy, t.message, t.remove
	if g.job, err = g.spawn(t); err != nil {
		errno := syscall.EINVAL
		errors.As(err, &errno)
		g.report(number(kindFailed, int64(errno)))
		g.container.remove()
		return false
	}
	g.report(started{g.job, g.container.tier(), why, cgroupPath(g.container)}.frame())
	return true
}

// spawn starts the job, unless it would have to be killed at once, because we may have been
// frozen. Its group gets the terminal before the command runs.
func (g *guard) spawn(t startOrder) (pid int, err error) {
	if g.host.Now() >= t.killBy {
		return 0, errnoLate
	}
	attr := jobAttr()
	g.container.prepare(attr)
	if t.tty {
		tty, err := syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		defer func() { _ = syscall.Close(tty) }()
		attr.Foreground, attr.Ctty = true, tty
	}
	return g.host.spawn(t.command, attr)
}

// signal signals the first process's group or, if stop is true, all of the job.
func (g *guard) signal(f frame, stop bool) {
	n, err := f.number()
	if err != nil || g.job == 0 {
		return
	}
	sig := syscall.Signal(n)
	if !stop {
		g.container.signalGroup(g, sig)
		return
	}
	g.container.signalAll(g, sig, syscall.SIGCONT)
}

// kill kills every process of the job, and arranges to do so again until none is left.
func (g *guard) kill() {
	if late := g.host.Now().Sub(g.killBy); late >= 0 {
		g.late, g.passed = max(g.late, late), overdue
	}
	g.killBy = clock.Never
	if g.job == 0 {
		return
	}
	g.container.signalAll(g, syscall.SIGKILL)
	if g.orphaned { // at once, because a script may already read
		g.tty.Return(g.job)
	}
	g.kills++
	pause := shortPause
	if g.kills > shortPauses {
		pause = longPause
	}
	g.killAt = g.host.Now().Add(pause)
	g.reap()
}

// maxReaped is how many processes are reaped before the guard looks at the deadline again.
const maxReaped = 100

// reap reaps processes that have ended, and reports what leaderrun must know.
func (g *guard) reap() {
	if g.job == 0 {
		return
	}
	g.lookAt = clock.Never
	more := true
	for n := 0; more && !g.gone && n < maxReaped; n++ {
		more = g.reapOne()
	}
	if more && !g.gone {
		g.lookAt = g.host.Now()
	}
	g.forgetDeadGroups()
	g.gone = g.gone || g.ended && !more && g.container.nothingLeft(g)
	if g.gone {
		g.cleanUp()
	}
	switch {
	case g.ended && !g.reported && g.gone:
		g.report(number(kindExited, int64(g.exit)|goneToo|g.passed))
	case g.ended && !g.reported:
		g.report(number(kindExited, int64(g.exit)|g.passed))
	case g.gone:
		g.report(number(kindGone, g.passed))
	}
	g.reported = g.ended
	if g.gone { // leaderrun need not wait for this
		g.container.remove()
	}
}

// reapOne reaps one process. It reports whether there may be more.
func (g *guard) reapOne() (more bool) {
	var ws syscall.WaitStatus
	pid, err := g.host.wait(&ws)
	g.childless = errors.Is(err, syscall.ECHILD)
	switch {
	case errors.Is(err, syscall.EINTR):
		return true
	case err != nil:
	case pid == g.job && ws.Stopped():
		g.report(number(kindSuspended, int64(ws.StopSignal())))
	case pid == g.job:
		g.ended, g.exit = true, ws
	case pid > 0 && pid == g.check.pid && !ws.Stopped():
		g.checkEnded(ws)
	}
	return pid > 0
}

// lookAgain arranges another look, because processes of the job may not be our children.
func (g *guard) lookAgain() { g.lookAt = g.host.Now().Add(longPause) }

// cleanUp does what proc.OnDeath says if leaderrun has died, and closes the files of it.
func (g *guard) cleanUp() {
	if g.orphaned && g.release != nil {
		_, _ = g.release.Write(g.message) // if that fails, the lock is free when the lease ends
	}
	if g.orphaned && g.job != 0 {
		g.tty.Return(g.job) // again: perhaps a group of the job had it that has no process now
	}
	if g.orphaned {
		for _, path := range g.remove {
			_ = os.Remove(path)
		}
	}
	g.closeFiles()
}
