//go:build unix && !linux

package guard

import (
	"errors"
	"syscall"
)

func makeContainer(use Tier) (container, string, error) {
	return groupContainer{}, "", Containment{Use: use}.check()
}

func namespaced(*syscall.SysProcAttr) {}

func cgroupPath(container) string { return "" }

func killCgroup(string) bool { return true }

// check reports why a containment cannot be had.
func (c Containment) check() error {
	if c.Use != "" && c.Use != Pgroup || c.Least != "" && c.Least != Pgroup {
		return errors.New("this system has the tier pgroup only")
	}
	return nil
}

// Best returns the tier that a job is kept together by unless another is asked
// for, and what is in the way of a stronger one.
func Best() (tier Tier, why string) { return Pgroup, "this system has no other" }
