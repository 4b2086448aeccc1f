package trial

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Linux tells for how long any process had to wait for a processor: see "PSI" in its
// documentation (Documentation/accounting/psi.rst). Other systems do not.
const pressureFile = "/proc/pressure/cpu"

// waited returns the time, since the machine was started, for which any process waited
// for a processor.
func waited() (total time.Duration, known bool) {
	_, micros, known := pressure()
	return time.Duration(micros) * time.Microsecond, known
}

// firstScale is 1 on a machine that was idle for the last ten seconds, and up to 3 on
// one where somebody always waited for a processor.
func firstScale() int {
	percent, _, _ := pressure()
	return 1 + int(percent/45)
}

func pressure() (percent float64, micros int64, known bool) {
	text, err := os.ReadFile(pressureFile)
	if err != nil {
		return 0, 0, false
	}
	var avg60, avg300 float64
	first, _, _ := strings.Cut(string(text), "\n")
	n, _ := fmt.Sscanf(first, "some avg10=%f avg60=%f avg300=%f total=%d", &percent, &avg60, &avg300, &micros)
	return percent, micros, n == 4
}
