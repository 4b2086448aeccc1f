package proc

import "os"

// Descends reports whether a process is this one, or descends from it. A process that has
// lost its parent descends from the subreaper that adopted it. Descends returns false for a
// process that ends meanwhile, or that /proc hides.
func Descends(pid int) bool {
	for range 1 << 16 { // lines that are read at different times may make a circle
		if pid == os.Getpid() {
			return true
		}
		p, err := readProcess(pid)
		if err != nil || p.parent == 0 {
			return false
		}
		pid = p.parent
	}
	return false
}
