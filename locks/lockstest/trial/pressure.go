package trial

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// Linux tells for how long any process had to wait for a processor, or for a disk: see
// "PSI" in its documentation (Documentation/accounting/psi.rst). Other systems do not.
const pressureFiles = "/proc/pressure/"

// Waited returns the time, since the machine was started, for which any process waited
// for a processor.
func Waited() (total time.Duration, known bool) { return pressure("cpu") }

// waitedForDisk is the same for disks, or what else is read and written.
func waitedForDisk() (total time.Duration, known bool) { return pressure("io") }

func pressure(name string) (total time.Duration, known bool) {
	text, err := os.ReadFile(pressureFiles + name)
	if err != nil {
		return 0, false
	}
	var avg [3]float64
	var micros int64
	n, _ := fmt.Sscanf(string(text), "some avg10=%f avg60=%f avg300=%f total=%d", &avg[0], &avg[1], &avg[2], &micros)
	return time.Duration(micros) * time.Microsecond, n == 4
}

// crowd is how many processes, for each processor, run or wait to run where tests
// begin with longer leases. Those of all tests alone are about half as many.
const crowd = 12

// firstScale is 1 on a machine that was not crowded for the last minute, and up to 3.
func firstScale() int {
	var load float64
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(text), &load)
	}
	return min(3, 1+int(load)/(crowd*runtime.NumCPU()))
}
