//go:build !linux

package proc

import "syscall"

// A Tree is the descendants of this process. They cannot be found here: a process that
// leaves the job's group leaves the job.
type Tree struct {
	Exclude func(pid int, started uint64) bool
	Groups  []int
	Enough  func() bool
}

// AdoptOrphans does nothing: there are no subreapers.
func AdoptOrphans() {}

// Signal finds no process.
func (Tree) Signal(int, bool, ...syscall.Signal) (int, error) { return 0, nil }

// Reap finds no process.
func (Tree) Reap() (int, error) { return 0, nil }

// Started returns 0, because it is unknown.
func Started(int) uint64 { return 0 }

// SeesUs returns nil, because /proc is not used here.
func SeesUs() error { return nil }

// Children returns nil, because they are unknown.
func Children() map[int]uint64 { return nil }

// ChildOf returns 0, because it is unknown.
func ChildOf(int) int { return 0 }

// A Spare is empty: killing takes no descriptor here.
type Spare struct{}

// NewSpare returns an empty Spare.
func NewSpare() (*Spare, error) { return &Spare{}, nil }

// Spend does nothing.
func (*Spare) Spend() {}
