package guard

import (
	"errors"

	"golang.org/x/sys/windows"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A running is a health check that runs. It has its own object within the job's, so it can be
// killed alone, and is killed and counted with the job.
type running struct {
	exits  chan uint32 // receives the exit status of its first process; nil: none runs
	number int64
	object proc.Object
}

// startCheck starts a health check.
func (g *guard) startCheck(f frame) {
	r, err := f.checkStart()
	pid := 0
	if err == nil {
		pid, err = g.spawnCheck(r)
	}
	if err != nil {
		errno := windows.ERROR_INVALID_PARAMETER
		errors.As(err, &errno)
		g.report(number(kindCheckFailed, int64(errno)))
		return
	}
	g.report(number(kindCheckStarted, int64(pid)))
}

// spawnCheck starts a check, unless it would have to be killed at once, or the first process
// has ended: the check would keep the job from being gone.
func (g *guard) spawnCheck(r checkStart) (pid int, err error) {
	if g.job == 0 || g.ended || g.killed || (clock.Boot{}).Now() >= g.killBy {
		return 0, errnoLate
	}
	if g.check.exits != nil {
		return 0, windows.ERROR_BUSY
	}
	object, err := proc.NewObject()
	if err != nil {
		return 0, err
	}
	r.command.NoInput = true
	process, pid, err := proc.Spawn(r.command, g.object, object)
	if err != nil {
		object.Close()
		return 0, err
	}
	exits := make(chan uint32, 1)
	g.check = running{exits, r.number, object}
	go func() {
		exits <- wait(process)
		_ = windows.CloseHandle(process)
	}()
	return pid, nil
}

func (g *guard) killCheck(f frame) {
	if n, err := f.number(); err == nil && g.check.exits != nil && n == g.check.number {
		_ = g.check.object.Kill()
	}
}

// checkEnded is called when the first process of the check has ended. Other processes of it
// continue, as parts of the job.
func (g *guard) checkEnded(code uint32) {
	g.check.object.Close()
	g.check = running{}
	g.report(number(kindCheckExited, int64(code)))
	if g.ended {
		g.look()
	}
}
