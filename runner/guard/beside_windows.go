package guard

import (
	"errors"

	"golang.org/x/sys/windows"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A running is what runs beside the job. It has an object of its own within the
// job's: so it can be killed alone, and is killed and counted with the job.
type running struct {
	exits  chan uint32 // how its first process ends; nil: there is nothing
	number int64
	object proc.Object
}

// startAside starts a command beside the job.
func (k *keeper) startAside(f frame) {
	r, err := f.request()
	pid := 0
	if err == nil {
		pid, err = k.spawnAside(r)
	}
	if err != nil {
		errno := windows.ERROR_INVALID_PARAMETER
		errors.As(err, &errno)
		k.say(number(kindAsideFailed, int64(errno)))
		return
	}
	k.say(number(kindAsideStarted, int64(pid)))
}

// spawnAside starts nothing that would have to be killed at once, or beside a job
// that has ended: that would not be gone for it.
func (k *keeper) spawnAside(r request) (pid int, err error) {
	if k.job == 0 || k.ended || k.killed || (clock.Boot{}).Now() >= k.killBy {
		return 0, errnoLate
	}
	if k.aside.exits != nil {
		return 0, windows.ERROR_BUSY
	}
	object, err := proc.NewObject()
	if err != nil {
		return 0, err
	}
	r.command.NoInput = true
	process, pid, err := proc.Spawn(r.command, k.object, object)
	if err != nil {
		object.Close()
		return 0, err
	}
	exits := make(chan uint32, 1)
	k.aside = running{exits, r.number, object}
	go func() {
		exits <- wait(process)
		_ = windows.CloseHandle(process)
	}()
	return pid, nil
}

func (k *keeper) killAside(f frame) {
	if n, err := f.number(); err == nil && k.aside.exits != nil && n == k.aside.number {
		_ = k.aside.object.Kill()
	}
}

// asideEnded is called when its first process has ended. What that has left goes
// on, as a part of the job.
func (k *keeper) asideEnded(code uint32) {
	k.aside.object.Close()
	k.aside = running{}
	k.say(number(kindAsideExited, int64(code)))
	if k.ended {
		k.look()
	}
}
