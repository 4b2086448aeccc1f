//go:build !linux

package file

import (
	"context"
	"os"

	"github.com/leaderrun/leaderrun/locks"
)

const watches = false

// awaitRemoval calls touched now and then until ctx ends, and does not notice a removal.
func awaitRemoval(ctx context.Context, _ string, _ os.FileInfo, _, touched func()) error {
	poll(ctx, touched)
	return nil
}

// inotifyFindings returns nil: this system has no inotify.
func inotifyFindings() []locks.Finding { return nil }
