//go:build unix

package guard

import (
	"errors"
	"os"
	"syscall"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A keeper is the guard's side: it owns the job. All of it belongs to the
// goroutine in keep, so that nothing is signalled while it is being reaped.
type keeper struct {
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

func newKeeper(c line, h host) *keeper {
	return &keeper{
		conn: c, out: outbox{conn: c}, host: h,
		killBy: clock.Never, killAt: clock.Never, lookAt: clock.Never, sendAt: clock.Never,
	}
}

// keep returns when nothing of the job is left and leaderrun has been told, or
// leaderrun has died before there was one.
//
// The job decides how much there is to reap and to report. So each step of the loop is
// bounded, and begins with a look at the deadline.
func (k *keeper) keep() {
	frames := make(chan frame)
	done := make(chan struct{})
	defer close(done)
	go feed(k.conn, frames, done)
	ended := make(chan os.Signal, 1)
	k.host.notify(ended)
	defer k.out.drain()
	for !k.gone && (!k.orphaned || k.job != 0) {
		if k.mustKill() {
			k.kill()
			continue
		}
		timer := clock.NewTimer(k.host, min(k.killBy, k.killAt, k.lookAt, k.sendAt))
		select {
		case f, ok := <-frames:
			if !ok {
				frames, k.orphaned = nil, true
				k.kill()
			} else if !k.obey(f) {
				return
			}
		case <-ended:
			k.reap()
		case <-timer.C:
			k.look()
		}
		timer.Stop()
	}
}

// mustKill reports whether a moment to kill the job has come.
func (k *keeper) mustKill() bool { return k.host.Now() >= min(k.killBy, k.killAt) }

// look does what is due, other than a kill.
func (k *keeper) look() {
	if now := k.host.Now(); now >= k.sendAt {
		k.send()
	} else if now >= k.lookAt {
		k.reap()
	}
}

// obey carries out an order, and reports whether the keeper is to go on.
func (k *keeper) obey(f frame) bool {
	switch f.kind {
	case kindFiles:
		if len(f.body) == 1 && f.body[0]&filesHold != 0 {
			k.hold = k.conn.nextFile("hold")
		}
		if len(f.body) == 1 && f.body[0]&filesRelease != 0 {
			k.release = k.conn.nextFile("release")
		}
	case kindStart:
		return k.start(f)
	case kindDeadline:
		if n, err := f.number(); err == nil {
			k.killBy = clock.Instant(n)
			k.say(f)
		}
	case kindSignal:
		k.signal(f, false)
	case kindStop:
		k.signal(f, true)
	case kindKill:
		k.say(frame{kind: kindKilling})
		k.kill()
	case kindCheckPart:
		k.begun = append(k.begun, f.body...)
	case kindCheck:
		f.body, k.begun = append(k.begun, f.body...), nil
		k.startCheck(f)
	case kindKillCheck:
		k.killCheck(f)
	}
	return true
}

// say queues a frame for leaderrun. If leaderrun has died, its end of the socket is
// closed, and that is seen.
func (k *keeper) say(f frame) {
	k.out.put(f)
	k.send()
}

func (k *keeper) send() {
	k.sendAt = clock.Never
	if !k.out.flush() {
		k.sendAt = k.host.Now().Add(slowly)
	}
}

func (k *keeper) start(f frame) bool {
	t, err := f.task()
	if err != nil || k.job != 0 {
		k.say(frame{kindNotContained, []byte(errFrame.Error())})
		return false
	}
	var why string
	if k.container, why, err = k.host.container(t.containment); err != nil {
		k.say(frame{kindNotContained, []byte(err.Error())})
		return false
	}
	k.killBy, k.message, k.remove = t.killBy, t.message, t.remove
	if k.job, err = k.spawn(t); err != nil {
		errno := syscall.EINVAL
		errors.As(err, &errno)
		k.say(number(kindFailed, int64(errno)))
		k.container.remove()
		return false
	}
	k.say(started{k.job, k.container.tier(), why, cgroupPath(k.container)}.frame())
	return true
}

// spawn starts the job, unless it would have to be killed at once: we may have
// been frozen. That its group gets the terminal happens before the command runs.
func (k *keeper) spawn(t task) (pid int, err error) {
	if k.host.Now() >= t.killBy {
		return 0, errnoLate
	}
	attr := jobAttr()
	k.container.prepare(attr)
	if t.tty {
		tty, err := syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		defer func() { _ = syscall.Close(tty) }()
		attr.Foreground, attr.Ctty = true, tty
	}
	return k.host.spawn(t.command, attr)
}

// signal signals the first process's group or, at a stop, all of the job.
func (k *keeper) signal(f frame, stop bool) {
	n, err := f.number()
	if err != nil || k.job == 0 {
		return
	}
	sig := syscall.Signal(n)
	if !stop {
		k.container.signalGroup(k, sig)
		return
	}
	k.container.signalAll(k, sig, syscall.SIGCONT)
}

// kill kills every process of the job, and arranges to do so again until none is left.
func (k *keeper) kill() {
	k.killBy = clock.Never
	if k.job == 0 {
		return
	}
	k.container.signalAll(k, syscall.SIGKILL)
	k.kills++
	pause := quickly
	if k.kills > many {
		pause = slowly
	}
	k.killAt = k.host.Now().Add(pause)
	k.reap()
}

// most is how many are reaped before the keeper looks at the deadline again.
const most = 100

// reap reaps what has ended, and says so.
func (k *keeper) reap() {
	if k.job == 0 {
		return
	}
	k.lookAt = clock.Never
	more := true
	for n := 0; more && !k.gone && n < most; n++ {
		more = k.reapOne()
	}
	if more && !k.gone {
		k.lookAt = k.host.Now()
	}
	k.forgetDeadGroups()
	k.gone = k.gone || k.ended && !more && k.container.nothingLeft(k)
	if k.gone {
		k.container.remove()
		k.cleanUp()
	}
	switch {
	case k.ended && !k.told && k.gone:
		k.say(number(kindExited, int64(k.exit)|goneToo))
	case k.ended && !k.told:
		k.say(number(kindExited, int64(k.exit)))
	case k.gone:
		k.say(frame{kind: kindGone})
	}
	k.told = k.ended
}

// reapOne reports whether there may be more.
func (k *keeper) reapOne() (more bool) {
	var ws syscall.WaitStatus
	pid, err := k.host.wait(&ws)
	k.childless = errors.Is(err, syscall.ECHILD)
	switch {
	case errors.Is(err, syscall.EINTR):
		return true
	case err != nil:
	case pid == k.job && ws.Stopped():
		k.say(number(kindStopped, int64(ws.StopSignal())))
	case pid == k.job:
		k.ended, k.exit = true, ws
	case pid > 0 && pid == k.check.pid && !ws.Stopped():
		k.checkEnded(ws)
	}
	return pid > 0
}

// lookAgain arranges another look at a job that may have processes which are not our
// children.
func (k *keeper) lookAgain() { k.lookAt = k.host.Now().Add(slowly) }

// cleanUp releases the lock and removes files if leaderrun has died, as it asked for, and
// closes the files that it gave us for that.
func (k *keeper) cleanUp() {
	if k.orphaned && k.release != nil {
		_, _ = k.release.Write(k.message) // if that fails, the lease runs out
	}
	if k.orphaned {
		for _, path := range k.remove {
			_ = os.Remove(path)
		}
	}
	for _, f := range []*os.File{k.hold, k.release} {
		if f != nil {
			_ = f.Close()
		}
	}
}
