package guard

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A guard owns the job. It runs in the guard's process. Its fields belong to the goroutine
// in run.
type guard struct {
	conn     *conn
	object   proc.Object // the job is in it
	enclosed error       // why no object ends the job with us; nil: one does

	killBy   clock.Instant
	orphaned bool // leaderrun has died

	job      int         // the first process and its group; 0: not started
	exits    chan uint32 // how it ends
	ended    bool
	exit     uint32 // if ended
	reported bool   // leaderrun knows that it ended
	gone     bool
	partial  []byte // of a checkStart
	check    running
	killed   bool
	looks    int
	lookAt   clock.Instant // when to look for processes again

	entrusted     bool // see orphanedEarly
	hold, release *os.File
	message       []byte
	remove        []string
}

func newGuard(c *conn, object proc.Object) *guard {
	return &guard{conn: c, object: object, killBy: clock.Never, lookAt: clock.Never, exits: make(chan uint32, 1)}
}

// run returns when nothing of the job is left, or when leaderrun has died before there was a
// job.
func (g *guard) run() {
	frames := make(chan frame)
	done := make(chan struct{})
	defer close(done)
	go feed(g.conn, frames, done)
	for !g.gone && (!g.orphaned || g.job != 0) {
		timer := clock.NewTimer(clock.Boot{}, min(g.killBy, g.lookAt))
		select {
		case f, ok := <-frames:
			if !ok {
				frames, g.orphaned = nil, true
				g.kill()
			} else if !g.carryOut(f) {
				return
			}
		case g.exit = <-g.exits:
			g.ended = true
			g.look()
		case code := <-g.check.exits:
			g.checkEnded(code)
		case <-timer.C:
			g.due()
		}
		timer.Stop()
	}
	if g.orphanedEarly() {
		g.cleanUp()
	}
}

// carryOut carries out an order, and reports whether the guard is to go on.
func (g *guard) carryOut(f frame) bool {
	switch f.kind {
	case kindFiles:
		g.inherit(f.body)
	case kindEntrust:
		g.takeOn(f)
	case kindStart:
		return g.start(f)
	case kindDeadline:
		if n, err := f.number(); err == nil {
			g.killBy = clock.Instant(n)
			g.report(f)
		}
	case kindSignal, kindStop:
		g.signal(f)
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

// inherit opens the files that leaderrun gives us. Their handles follow the byte that says
// which files they are.
func (g *guard) inherit(body []byte) {
	if len(body) == 0 {
		return
	}
	g.closeFiles() // those of an earlier frame
	which, numbers := body[0], body[1:]
	next := func() *os.File {
		if len(numbers) < 8 {
			return nil
		}
		h := binary.BigEndian.Uint64(numbers)
		numbers = numbers[8:]
		return os.NewFile(uintptr(h), "from leaderrun")
	}
	if which&filesHold != 0 {
		g.hold = next()
	}
	if which&filesRelease != 0 {
		g.release = next()
	}
}

// report sends a frame to leaderrun. If leaderrun has died, run sees that the pipe is closed.
func (g *guard) report(f frame) { _ = g.conn.report(f) }

func (g *guard) start(f frame) bool {
	t, err := f.task()
	if err == nil && g.job != 0 {
		err = errFrame
	}
	if err = errors.Join(err, g.enclosed, g.carry()); err != nil {
		g.report(frame{kindNotContained, []byte(err.Error())})
		return false
	}
	g.killBy, g.message, g.remove = t.killBy, t.message, t.remove
	if err := g.spawn(t); err != nil {
		errno := windows.ERROR_INVALID_PARAMETER
		errors.As(err, &errno)
		g.report(number(kindFailed, int64(errno)))
		return false
	}
	g.report(started{pid: g.job, tier: jobObject}.frame())
	return true
}

// carry makes us hold the lock as well, if a file holds it.
func (g *guard) carry() error {
	if g.hold == nil {
		return nil
	}
	return locks.Carry(g.hold)
}

// spawn starts the job, unless it would have to be killed at once, because we may have been
// frozen.
func (g *guard) spawn(t task) error {
	if (clock.Boot{}).Now() >= t.killBy {
		return errnoLate
	}
	process, pid, err := proc.Spawn(t.command, g.object)
	if err != nil {
		return err
	}
	g.job = pid
	go func() { g.exits <- wait(process) }()
	return nil
}

// wait returns the exit status of a process when it has ended. The handle stays open, so that
// no other process gets the id, which is also the id of the group.
func wait(process windows.Handle) (code uint32) {
	_, _ = windows.WaitForSingleObject(process, windows.INFINITE)
	if windows.GetExitCodeProcess(process, &code) != nil {
		return proc.Killed
	}
	return code
}

// signal sends CTRL_BREAK, whatever the signal, because a process group can receive no
// other. Without a console it cannot receive that one either.
func (g *guard) signal(f frame) {
	n, err := f.number()
	switch {
	case err != nil || g.job == 0:
	case syscall.Signal(n) == syscall.SIGKILL:
		g.kill()
	default:
		_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.job))
	}
}

// due kills or looks, as is due.
func (g *guard) due() {
	if g.killed || (clock.Boot{}).Now() >= g.killBy {
		g.kill()
	} else {
		g.look()
	}
}

// kill kills every process of the job, and arranges to do so again until none is left.
func (g *guard) kill() {
	g.killBy = clock.Never
	if g.job == 0 {
		return
	}
	if !g.killed {
		g.killed, g.looks = true, 0
	}
	_ = g.object.Kill()
	g.look()
}

// look looks whether processes of the job are left, and reports it. After the end of the
// first process, or a kill, it arranges another look until none is left.
func (g *guard) look() {
	empty, err := g.object.Empty()
	g.gone = g.ended && g.check.exits == nil && empty && err == nil
	if g.gone {
		g.cleanUp()
	}
	switch {
	case g.ended && !g.reported && g.gone:
		g.report(number(kindExited, int64(g.exit)|goneToo))
	case g.ended && !g.reported:
		g.report(number(kindExited, int64(g.exit)))
	case g.gone:
		g.report(frame{kind: kindGone})
	}
	g.reported = g.ended
	pause := shortPause
	if g.looks++; g.looks > shortPauses {
		pause = longPause
	}
	g.lookAt = clock.Boot{}.Now().Add(pause)
}

// cleanUp does what proc.OnDeath says if leaderrun has died, and closes the files of it.
func (g *guard) cleanUp() {
	if g.orphaned && g.release != nil {
		_, _ = g.release.Write(g.message) // if that fails, the lock is free when the lease ends
	}
	if g.orphaned {
		for _, path := range g.remove {
			_ = os.Remove(path)
		}
	}
	g.closeFiles()
}
