package cmd

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

func TestMain(m *testing.M) {
	tester.Forget()
	os.Exit(m.Run())
}

// TestErrorsBeforeOptions: an error of the command line is JSON if a variable or the part
// that could be read asks for it.
func TestErrorsBeforeOptions(t *testing.T) {
	for _, tt := range []struct {
		variable, args string
		json           bool
	}{
		{"", "--nosuch", false},
		{"json", "--nosuch", true},
		{"", "--log-format=json --nosuch", true},
		{"", "--log-format json --nosuch", true},
		{"", "--nosuch -n --log-format json true", true},
		{"", "--nosuch true --log-format json", false}, // it is the job's
		{"json", "--log-format=text --nosuch", false},
		{"text", "--log-format", false},
		{"", "--log-format json -w soon true", true},
	} {
		t.Setenv("LEADERRUN_LOG_FORMAT", tt.variable)
		var b strings.Builder
		e := env.Env{Registry: new(locks.Registry), Out: io.Discard, Console: output.NewConsole(&b)}
		status := Main(append([]string{"leaderrun"}, strings.Fields(tt.args)...), e)
		if got := strings.HasPrefix(b.String(), "{"); got != tt.json || status != output.ExitUsage {
			t.Errorf("%q %q: exit status %d, %q", tt.variable, tt.args, status, &b)
		}
	}
}
