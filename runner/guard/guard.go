//go:build unix

package guard

import (
	"errors"
	"os"
	"syscall"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A guard owns the job, in the guard's process. All of it belongs to the
// goroutine in run, so that nothing is signalled while it is being reaped.
type guard struct {
	conn line
	out  outbox
	host host

	killBy   clock.Instant
	orphaned bool // leaderrun has died

	container container
	job       int // the first process and its group; 0: none was started
	ended     bool
	exit      syscall.WaitStatus // if ended
	told      bool               // leaderrun knows that it ended
	gone      bool
	// childless says that the guard has no child, dead or alive.
	childless bool
	begun     []byte  // of a checkStart
	check     running // the health check
	dying     []int   // what was left of such ones, for [Pgroup]
	kills     int
	killAt    clock.Instant // when to kill again
	lookAt    clock.Instant // when to look again whether anything is left
	sendAt    clock.Instant // when to send again what could not be sent

	hold, release *os.File
	message       []byte
	remove        []string
}

func newGuard(c line, h host) *guard {
	return &guard{
		conn: c, out: outbox{conn: c}, host: h,
		killBy: clock.Never, killAt: clock.Never, lookAt: clock.Never, sendAt: clock.Never,
	}
}

// run returns when nothing of the job is left and leaderrun has been told, or
// leaderrun has died before there was one.
//
// The job decides how much there is to reap and to report. So each step of the loop is
// bounded, and begins with a look at the deadline.
func (g *guard) run() {
	frames := make(chan frame)
	done := make(chan struct{})
	defer close(done)
	go feed(g.conn, frames, done)
	ended := make(chan os.Signal, 1)
	g.host.notify(ended)
	defer g.out.drain()
	for !g.gone && (!g.orphaned || g.job != 0) {
		if g.mustKill() {
			g.kill()
			continue
		}
		timer := clock.NewTimer(g.host, min(g.killBy, g.killAt, g.lookAt, g.sendAt))
		select {
		case f, ok := <-frames:
			if !ok {
				frames, g.orphaned = nil, true
				g.kill()
			} else if !g.obey(f) {
				return
			}
		case <-ended:
			g.reap()
		case <-timer.C:
			g.look()
		}
		timer.Stop()
	}
}

// mustKill reports whether a moment to kill the job has come.
func (g *guard) mustKill() bool { return g.host.Now() >= min(g.killBy, g.killAt) }

// look does what is due, other than a kill.
func (g *guard) look() {
	if now := g.host.Now(); now >= g.sendAt {
		g.send()
	} else if now >= g.lookAt {
		g.reap()
	}
}

// obey carries out an order, and reports whether the guard is to go on.
func (g *guard) obey(f frame) bool {
	switch f.kind {
	case kindFiles:
		if len(f.body) == 1 && f.body[0]&filesHold != 0 {
			g.hold = g.conn.nextFile("hold")
		}
		if len(f.body) == 1 && f.body[0]&filesRelease != 0 {
			g.release = g.conn.nextFile("release")
		}
	case kindStart:
		return g.start(f)
	case kindDeadline:
		if n, err := f.number(); err == nil {
			g.killBy = clock.Instant(n)
			g.say(f)
		}
	case kindSignal:
		g.signal(f, false)
	case kindStop:
		g.signal(f, true)
	case kindKill:
		g.say(frame{kind: kindKilling})
		g.kill()
	case kindCheckPart:
		g.begun = append(g.begun, f.body...)
	case kindCheck:
		f.body, g.begun = append(g.begun, f.body...), nil
		g.startCheck(f)
	case kindKillCheck:
		g.killCheck(f)
	}
	return true
}

// say queues a frame for leaderrun. If leaderrun has died, its end of the socket is
// closed, and that is seen.
func (g *guard) say(f frame) {
	g.out.put(f)
	g.send()
}

func (g *guard) send() {
	g.sendAt = clock.Never
	if !g.out.flush() {
		g.sendAt = g.host.Now().Add(slowly)
	}
}

func (g *guard) start(f frame) bool {
	t, err := f.task()
	if err != nil || g.job != 0 {
		g.say(frame{kindNotContained, []byte(errFrame.Error())})
		return false
	}
	var why string
	if g.container, why, err = g.host.container(t.containment); err != nil {
		g.say(frame{kindNotContained, []byte(err.Error())})
		return false
	}
	g.killBy, g.message, g.remove = t.killBy, t.message, t.remove
	if g.job, err = g.spawn(t); err != nil {
		errno := syscall.EINVAL
		errors.As(err, &errno)
		g.say(number(kindFailed, int64(errno)))
		g.container.remove()
		return false
	}
	g.say(started{g.job, g.container.tier(), why, cgroupPath(g.container)}.frame())
	return true
}

// spawn starts the job, unless it would have to be killed at once: we may have
// been frozen. That its group gets the terminal happens before the command runs.
func (g *guard) spawn(t task) (pid int, err error) {
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

// signal signals the first process's group or, at a stop, all of the job.
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
	g.killBy = clock.Never
	if g.job == 0 {
		return
	}
	g.container.signalAll(g, syscall.SIGKILL)
	g.kills++
	pause := quickly
	if g.kills > many {
		pause = slowly
	}
	g.killAt = g.host.Now().Add(pause)
	g.reap()
}

// most is how many are reaped before the guard looks at the deadline again.
const most = 100

// reap reaps what has ended, and says so.
func (g *guard) reap() {
	if g.job == 0 {
		return
	}
	g.lookAt = clock.Never
	more := true
	for n := 0; more && !g.gone && n < most; n++ {
		more = g.reapOne()
	}
	if more && !g.gone {
		g.lookAt = g.host.Now()
	}
	g.forgetDeadGroups()
	g.gone = g.gone || g.ended && !more && g.container.nothingLeft(g)
	if g.gone {
		g.container.remove()
		g.cleanUp()
	}
	switch {
	case g.ended && !g.told && g.gone:
		g.say(number(kindExited, int64(g.exit)|goneToo))
	case g.ended && !g.told:
		g.say(number(kindExited, int64(g.exit)))
	case g.gone:
		g.say(frame{kind: kindGone})
	}
	g.told = g.ended
}

// reapOne reports whether there may be more.
func (g *guard) reapOne() (more bool) {
	var ws syscall.WaitStatus
	pid, err := g.host.wait(&ws)
	g.childless = errors.Is(err, syscall.ECHILD)
	switch {
	case errors.Is(err, syscall.EINTR):
		return true
	case err != nil:
	case pid == g.job && ws.Stopped():
		g.say(number(kindSuspended, int64(ws.StopSignal())))
	case pid == g.job:
		g.ended, g.exit = true, ws
	case pid > 0 && pid == g.check.pid && !ws.Stopped():
		g.checkEnded(ws)
	}
	return pid > 0
}

// lookAgain arranges another look at a job that may have processes which are not our
// children.
func (g *guard) lookAgain() { g.lookAt = g.host.Now().Add(slowly) }

// cleanUp releases the lock and removes files if leaderrun has died, as it asked for, and
// closes the files that it gave us for that.
func (g *guard) cleanUp() {
	if g.orphaned && g.release != nil {
		_, _ = g.release.Write(g.message) // if that fails, the lease runs out
	}
	if g.orphaned {
		for _, path := range g.remove {
			_ = os.Remove(path)
		}
	}
	for _, f := range []*os.File{g.hold, g.release} {
		if f != nil {
			_ = f.Close()
		}
	}
}
