package output

import "os"

// isInherited reports whether a descriptor is open.
func isInherited(fd int) bool {
	_, err := os.NewFile(uintptr(fd), "").Stat()
	return err == nil
}
