package proc

import (
	"sync"

	"golang.org/x/sys/unix"
)

// spares are how many descriptors it takes to look at a process, and its children,
// in /proc, and to signal it, with some to spare.
const spares = 6

// A Spare is descriptors that are held until they are needed. Who has run out of
// descriptors could not find the processes of a job any more, and so not kill them.
type Spare struct {
	mu  sync.Mutex
	fds []int
}

// NewSpare holds some descriptors; if it cannot have them, there would be none to kill
// with either.
func NewSpare() (*Spare, error) {
	s := &Spare{}
	for range spares {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			s.Spend()
			return nil, err
		}
		s.fds = append(s.fds, fd)
	}
	return s, nil
}

// Spend lets them go, for others. To spend what is spent, or nil, does nothing.
func (s *Spare) Spend() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fd := range s.fds {
		_ = unix.Close(fd)
	}
	s.fds = nil
}
