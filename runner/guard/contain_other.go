//go:build !linux

package guard

import (
	"errors"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/cgroup"
)

func makeContainer(use Tier, _ cgroup.Home) (container, string, error) {
	return groupContainer{}, "", use.check()
}

func namespaced(*syscall.SysProcAttr) {}

func cgroupPath(container) string { return "" }

func killCgroup(string) bool { return true }

// check returns why a tier is not available, or nil.
func (t Tier) check() error {
	if t != "" && t != Pgroup {
		return errors.New("this system has only the tier pgroup")
	}
	return nil
}

// Best returns the tier by which a job is contained, and why no stronger one is.
func Best() (tier Tier, why string) { return Pgroup, "this system has no other" }
