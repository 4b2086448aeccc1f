package proc

import (
	"sync"

	"golang.org/x/sys/unix"
)

// spares is more than the number of descriptors that are needed to read a process and its
// children in /proc, and to signal it.
const spares = 6

// A Spare reserves descriptors. A process that has run out of descriptors could not find the
// processes of a job, and so could not kill them.
type Spare struct {
	mu  sync.Mutex
	fds []int
}

// NewSpare reserves descriptors. If it fails, there would be none to kill a job with
// either.
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

// Spend frees the descriptors. It does nothing if they were freed before, or s is nil.
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
