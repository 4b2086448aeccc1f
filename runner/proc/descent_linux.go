package proc

import "os"

// Descends reports whether a process is this one, or descends from it. What has lost its
// parent descends from the subreaper that has it now. One that ends meanwhile, or that
// /proc hides, does not.
func Descends(pid int) bool {
	for range 1 << 16 { // what is read at different times may make a circle
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
