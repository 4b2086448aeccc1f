package threads

import (
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"
)

// turnPatience is how long we wait for our turn. Whoever has it may be frozen.
const turnPatience = 5 * time.Second

// tellAfter is how long it is normal that there is no room, when many runs start at one moment.
const tellAfter = 5 * time.Second

// Admit waits until there is room for n more tasks, and then reserves those of a core. It returns an
// [ErrOut] if there is none within the wait, or cannot be. Each time that there is none, it calls
// waiting, and returns its error, if it has one; long says that this takes long. It starts no thread
// before there is room, so it must be called early.
//
// Where a limit is near, leaderruns that share it take turns, from when they look until all
// processes that they need have their threads, when the caller calls done. Otherwise all runs
// that start at one moment would find the same room.
func Admit(n int, wait time.Duration, waiting func(long bool) error) (done func(), err error) {
	r := look()
	if r.free >= many {
		return func() {}, nil
	}
	began := time.Now()
	for last := began; ; { // the last turn
		turn, ours := takeTurn(r.file)
		waited := time.Since(began)
		if ours || time.Since(last) > turnPatience || waited >= wait {
			last = time.Now()
			if r = look(); r.free >= n {
				Reserve(OfCore)
				return func() { _ = unix.Close(turn) }, nil
			}
		}
		_ = unix.Close(turn)
		if r.free < n && (waited >= wait || r.limit < n) {
			return nil, fmt.Errorf("%w: %s allows only %d more, and it takes %d", ErrOut, r.of, max(r.free, 0), n)
		}
		if err := waiting(r.free < n && waited > tellAfter); err != nil {
			return nil, err
		}
		nap(10*time.Millisecond + rand.N(20*time.Millisecond))
	}
}

// takeTurn locks a file of the limit. If it cannot be opened or locked, everybody always has a
// turn.
func takeTurn(file string) (fd int, ours bool) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, true
	}
	return fd, unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != unix.EWOULDBLOCK
}

// nap sleeps in one system call, because the scheduler might start a thread to wake up.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}
