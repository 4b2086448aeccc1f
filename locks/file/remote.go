package file

import (
	"os"

	"github.com/leaderrun/leaderrun/locks"
)

// checkLocal refuses a directory on a file system that other machines may see,
// or that may pass on nothing of what we do to its server. There flock(2) may
// be local to each client, and a page cache is not the truth.
func checkLocal(dir *os.File, remote func(*os.File) (string, error)) error {
	kind, err := remote(dir)
	if err != nil {
		return err
	}
	if kind == "" {
		return nil
	}
	return fault(locks.ErrUsage,
		"name a directory on a local disk with -b file:///dir, or use a backend that is made for several machines",
		"%q is on a file system of the type %s, where file locks cannot be relied upon", dir.Name(), kind)
}
