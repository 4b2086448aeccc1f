//go:build unix && !linux

package guard

import "os"

const receiveFlags = 0

// self is this program's file.
func self() (string, error) { return os.Executable() }

// awaitEnd cannot wait without reaping here: that is for the caller to do.
func awaitEnd(int) {}
