package oracle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
)

// crash matches the line in which a Go program says why it aborts, for example because
// it gets no thread. A helper's line is part of a line of leaderrun.
var crash = regexp.MustCompile(`(?m)^.*\b(?:panic|fatal error|SIG(?:ABRT|BUS|FPE|ILL|QUIT|SEGV|TRAP)): .*`)

// Crashes returns these lines.
func Crashes(text []byte) (all []string) {
	for _, line := range crash.FindAll(text, -1) {
		all = append(all, string(line))
	}
	return all
}

// crashed reports each leaderrun, guard and helper that has aborted.
func (v *Verdict) crashed() {
	for _, file := range v.options.Logs {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // missing if nothing was started
			v.complain(err.Error())
		}
		for _, line := range Crashes(text) {
			v.complain(fmt.Sprintf("crash: %s", line))
		}
	}
}
