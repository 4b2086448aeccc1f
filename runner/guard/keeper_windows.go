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

// A keeper is the guard's side: it owns the job. All of it belongs to the
// goroutine in keep.
type keeper struct {
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

func newKeeper(c *conn, object proc.Object) *keeper {
	return &keeper{conn: c, object: object, killBy: clock.Never, lookAt: clock.Never, exits: make(chan uint32, 1)}
}

// keep returns when nothing of the job is left, or leaderrun has died before
// there was one.
func (k *keeper) keep() {
	frames := make(chan frame)
	done := make(chan struct{})
	defer close(done)
	go feed(k.conn, frames, done)
	for !k.gone && (!k.orphaned || k.job != 0) {
		timer := clock.NewTimer(clock.Boot{}, min(k.killBy, k.lookAt))
		select {
		case f, ok := <-frames:
			if !ok {
				frames, k.orphaned = nil, true
				k.kill()
			} else if !k.obey(f) {
				return
			}
		case k.exit = <-k.exits:
			k.ended = true
			k.look()
		case code := <-k.check.exits:
			k.checkEnded(code)
		case <-timer.C:
			k.due()
		}
		timer.Stop()
	}
}

// obey does what it is told, and reports whether there is more to do.
func (k *keeper) obey(f frame) bool {
	switch f.kind {
	case kindFiles:
		k.inherit(f.body)
	case kindStart:
		return k.start(f)
	case kindDeadline:
		if n, err := f.number(); err == nil {
			k.killBy = clock.Instant(n)
			k.say(f)
		}
	case kindSignal, kindStop:
		k.signal(f)
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

// inherit takes the files that leaderrun leaves us, whose numbers follow the byte that says
// which they are.
func (k *keeper) inherit(body []byte) {
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
		k.hold = next()
	}
	if which&filesRelease != 0 {
		k.release = next()
	}
}

// say sends leaderrun a frame. If leaderrun has died, its end of the
// pipe is closed, and that is seen.
func (k *keeper) say(f frame) { _ = k.conn.say(f) }

func (k *keeper) start(f frame) bool {
	t, err := f.task()
	if err == nil && k.job != 0 {
		err = errFrame
	}
	if err = errors.Join(err, k.enclosed, k.carry()); err != nil {
		k.say(frame{kindNotContained, []byte(err.Error())})
		return false
	}
	k.killBy, k.message, k.remove = t.killBy, t.message, t.remove
	if err := k.spawn(t); err != nil {
		errno := windows.ERROR_INVALID_PARAMETER
		errors.As(err, &errno)
		k.say(number(kindFailed, int64(errno)))
		return false
	}
	k.say(started{pid: k.job, tier: jobObject}.frame())
	return true
}

// carry has us hold the lock, too, if it is one that a file carries.
func (k *keeper) carry() error {
	if k.hold == nil {
		return nil
	}
	return locks.Carry(k.hold)
}

// spawn starts the job, unless it would have to be killed at once: we may have
// been frozen.
func (k *keeper) spawn(t task) error {
	if (clock.Boot{}).Now() >= t.killBy {
		return errnoLate
	}
	process, pid, err := proc.Spawn(t.command, k.object)
	if err != nil {
		return err
	}
	k.job = pid
	go func() { k.exits <- wait(process) }()
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
func (k *keeper) signal(f frame) {
	n, err := f.number()
	switch {
	case err != nil || k.job == 0:
	case syscall.Signal(n) == syscall.SIGKILL:
		k.kill()
	default:
		_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(k.job))
	}
}

// due does what a moment that has come demands.
func (k *keeper) due() {
	if k.killed || (clock.Boot{}).Now() >= k.killBy {
		k.kill()
	} else {
		k.look()
	}
}

// kill kills all that is there of the job, and sees to it that it is done again
// until nothing is.
func (k *keeper) kill() {
	k.killBy = clock.Never
	if k.job == 0 {
		return
	}
	if !k.killed {
		k.killed, k.looks = true, 0
	}
	_ = k.object.Kill()
	k.look()
}

// look looks what is left, and tells of it. After the end of the first process,
// or a kill, it is done again until nothing is.
func (k *keeper) look() {
	empty, err := k.object.Empty()
	k.gone = k.ended && k.check.exits == nil && empty && err == nil
	if k.gone {
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
	pause := quickly
	if k.looks++; k.looks > many {
		pause = slowly
	}
	k.lookAt = clock.Boot{}.Now().Add(pause)
}

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
