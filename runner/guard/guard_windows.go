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

// A guard owns the job, in the guard's process. All of it belongs to the
// goroutine in run.
type guard struct {
	conn     *conn
	object   proc.Object // the job is in it
	enclosed error       // why we are in none that ends the job with us

	killBy   clock.Instant
	orphaned bool // leaderrun has died

	job    int         // the first process and its group; 0: none was started
	exits  chan uint32 // how it ends
	ended  bool
	exit   uint32 // if ended
	told   bool   // leaderrun knows that it ended
	gone   bool
	begun  []byte // of a checkStart
	check  running
	killed bool
	looks  int
	lookAt clock.Instant // when to look again whether anything is left

	hold, release *os.File
	message       []byte
	remove        []string
}

func newGuard(c *conn, object proc.Object) *guard {
	return &guard{conn: c, object: object, killBy: clock.Never, lookAt: clock.Never, exits: make(chan uint32, 1)}
}

// run returns when nothing of the job is left, or leaderrun has died before
// there was one.
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
			} else if !g.obey(f) {
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
}

// obey does what it is told, and reports whether there is more to do.
func (g *guard) obey(f frame) bool {
	switch f.kind {
	case kindFiles:
		g.inherit(f.body)
	case kindStart:
		return g.start(f)
	case kindDeadline:
		if n, err := f.number(); err == nil {
			g.killBy = clock.Instant(n)
			g.say(f)
		}
	case kindSignal, kindStop:
		g.signal(f)
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

// inherit takes the files that leaderrun leaves us, whose numbers follow the byte that says
// which they are.
func (g *guard) inherit(body []byte) {
	if len(body) == 0 {
		return
	}
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

// say sends leaderrun a frame. If leaderrun has died, its end of the
// pipe is closed, and that is seen.
func (g *guard) say(f frame) { _ = g.conn.say(f) }

func (g *guard) start(f frame) bool {
	t, err := f.task()
	if err == nil && g.job != 0 {
		err = errFrame
	}
	if err = errors.Join(err, g.enclosed, g.carry()); err != nil {
		g.say(frame{kindNotContained, []byte(err.Error())})
		return false
	}
	g.killBy, g.message, g.remove = t.killBy, t.message, t.remove
	if err := g.spawn(t); err != nil {
		errno := windows.ERROR_INVALID_PARAMETER
		errors.As(err, &errno)
		g.say(number(kindFailed, int64(errno)))
		return false
	}
	g.say(started{pid: g.job, tier: jobObject}.frame())
	return true
}

// carry has us hold the lock, too, if it is one that a file carries.
func (g *guard) carry() error {
	if g.hold == nil {
		return nil
	}
	return locks.Carry(g.hold)
}

// spawn starts the job, unless it would have to be killed at once: we may have
// been frozen.
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

// wait returns a process's exit status when it has ended. The handle stays open,
// so that nobody else gets the id, which is the group's, too.
func wait(process windows.Handle) (code uint32) {
	_, _ = windows.WaitForSingleObject(process, windows.INFINITE)
	if windows.GetExitCodeProcess(process, &code) != nil {
		return proc.Killed
	}
	return code
}

// signal sends CTRL_BREAK, whatever the signal: a process group gets no other.
// Without a console there is not even that.
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

// due does what a moment that has come demands.
func (g *guard) due() {
	if g.killed || (clock.Boot{}).Now() >= g.killBy {
		g.kill()
	} else {
		g.look()
	}
}

// kill kills all that is there of the job, and sees to it that it is done again
// until nothing is.
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

// look looks what is left, and tells of it. After the end of the first process,
// or a kill, it is done again until nothing is.
func (g *guard) look() {
	empty, err := g.object.Empty()
	g.gone = g.ended && g.check.exits == nil && empty && err == nil
	if g.gone {
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
	pause := quickly
	if g.looks++; g.looks > many {
		pause = slowly
	}
	g.lookAt = clock.Boot{}.Now().Add(pause)
}

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
