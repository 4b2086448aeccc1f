//go:build !linux

package guard

import "os"

const receiveFlags = 0

// self returns the path of this program's file.
func self() (string, error) { return os.Executable() }

// awaitEnd does nothing: here, waiting for a child also reaps it, which the caller does.
func awaitEnd(int) {}
