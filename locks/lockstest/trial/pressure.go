package trial

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// Linux reports how long any process had to wait for a processor or a disk: see "PSI" in
// its documentation (Documentation/accounting/psi.rst). Other systems do not.
const pressureFiles = "/proc/pressure/"

// Waited returns how long, since the machine was started, any process waited for a
// processor.
func Waited() (total time.Duration, known bool) { return pressure("cpu") }

// waitedForDisk is like Waited for disks and other input and output.
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

// crowd is how many processes per processor run or wait to run when tests begin with
// longer leases. All tests alone reach about half as many.
const crowd = 12

// Scale is 1 on a machine that was not crowded in the last minute, and up to 3
// otherwise.
func Scale() int {
	var load float64
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(text), &load)
	}
	return min(3, 1+int(load)/(crowd*runtime.NumCPU()))
}
