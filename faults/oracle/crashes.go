package oracle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
)

// crash is the line with which a program of Go says why it aborts, such as that it can
// have no thread. That of a helper is in a line of leaderrun's.
var crash = regexp.MustCompile(`(?m)^.*\b(?:panic|fatal error|SIG(?:ABRT|BUS|FPE|ILL|QUIT|SEGV|TRAP)): .*`)

// Crashes are these lines.
func Crashes(text []byte) (all []string) {
	for _, line := range crash.FindAll(text, -1) {
		all = append(all, string(line))
	}
	return all
}

// crashed complains of each leaderrun, guard and helper that has aborted.
func (v *Verdict) crashed() {
	for _, file := range v.options.Logs {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // there is none if nothing was started
			v.complain(err.Error())
		}
		for _, line := range Crashes(text) {
			v.complain(fmt.Sprintf("crash: %s", line))
		}
	}
}
