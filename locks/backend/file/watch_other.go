//go:build !linux

package file

import (
	"context"
	"os"

	"github.com/leaderrun/leaderrun/locks"
)

const watches = false

// awaitRemoval calls heed now and then until ctx ends, and notices no removal.
func awaitRemoval(ctx context.Context, _ string, _ os.FileInfo, _, heed func()) error {
	poll(ctx, heed)
	return nil
}

// notices has nothing to look at.
func notices() []locks.Finding { return nil }
