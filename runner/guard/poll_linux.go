//go:build amd64 || arm64

package guard

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// A polled is the line and the inbox of a guard's process. It waits for everything in one system
// call, so that the guard needs one thread only.
type polled struct {
	intake
	socket   int
	children int // has a byte for each SIGCHLD
	timer    int // a timer that runs in suspend
	armed    clock.Instant
	ended    bool // the socket has
	told     bool // that it has
	wasDue   bool // the last arrival of the two others was a moment
}

func newLine(fd int) (line, inbox, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, nil, err
	}
	children, err := signals.Poll(syscall.SIGCHLD)
	if err != nil {
		return nil, nil, err
	}
	p, err := newPolled(fd, children)
	return p, p, err
}

func newPolled(socket, children int) (*polled, error) {
	timer, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	return &polled{socket: socket, children: children, timer: timer, armed: clock.Never}, err
}

func (p *polled) next(until clock.Instant) (arrival, frame) {
	for {
		if e, f := p.buffered(); e != nothing {
			return e, f
		}
		p.arm(until)
		fds := []unix.PollFd{
			{Fd: int32(p.timer), Events: unix.POLLIN},
			{Fd: int32(p.children), Events: unix.POLLIN},
			{Fd: int32(p.socket), Events: unix.POLLIN},
		}
		if p.ended {
			fds[2].Fd = -1
		}
		switch _, err := unix.Poll(fds, -1); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil: // somebody has taken the limit of descriptors from us
			time.Sleep(longPause)
			fds[0].Revents, fds[2].Revents = unix.POLLIN, unix.POLLIN
		}
		if fds[2].Revents != 0 {
			p.fill()
		}
		switch due, child := fds[0].Revents != 0, fds[1].Revents != 0; {
		case due && !(child && p.wasDue):
			p.wasDue, p.armed = true, wentOff
			return moment, frame{}
		case child:
			p.wasDue = false
			var some [64]byte
			_, _ = unix.Read(p.children, some[:])
			return childEnded, frame{}
		}
	}
}

// near is how much may be left of the time when the timer is set for all of it. Before, it is
// set for nine tenths, because the clock of the kernel may be slewed.
const near = time.Second / 2

// wentOff is no moment for which the timer can be set. It makes arm set the timer again.
const wentOff clock.Instant = -1

// arm sets the timer, if it is not set for this moment.
func (p *polled) arm(at clock.Instant) {
	if at == p.armed {
		return
	}
	p.armed = at
	var when unix.ItimerSpec // never
	if at != clock.Never {
		left := at.Sub(clock.Boot{}.Now())
		if left > near {
			left -= left / 10
		}
		when.Value = unix.NsecToTimespec(int64(max(left, 1)))
	}
	_ = unix.TimerfdSettime(p.timer, 0, &when, nil)
}

func (p *polled) order() (arrival, frame) {
	if e, f := p.buffered(); e != nothing || p.ended {
		return e, f
	}
	p.fill()
	return p.buffered()
}

// buffered returns the next order that was received, or hungUp after the last one.
func (p *polled) buffered() (arrival, frame) {
	if p.told {
		return nothing, frame{}
	}
	f, ok, err := p.cut()
	switch {
	case ok:
		return ordered, f
	case err != nil || p.ended:
		p.ended, p.told = true, true
		return hungUp, frame{}
	}
	return nothing, frame{}
}

// fill receives what there is.
func (p *polled) fill() {
	switch err := p.receiveFrom(p.socket); {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
	case err != nil:
		p.ended = true
	}
}

func (p *polled) offer(b []byte) (n int, err error) { return offerTo(p.socket, b) }

// send is only used for the first frame, for which there is room.
func (p *polled) send(f frame) error {
	_, err := p.offer(f.encode())
	return err
}

func (p *polled) open()                         {}
func (p *polled) close()                        {}
func (p *polled) receive() (frame, error)       { panic("the inbox receives") }
func (p *polled) sendFiles(frame, ...int) error { panic("a guard sends no files") }

var (
	_ line  = (*polled)(nil)
	_ inbox = (*polled)(nil)
)
