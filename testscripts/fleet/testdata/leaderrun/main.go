// Command leaderrun is the program of that name with a clock that a test can set.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/cmd"
	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

func main() {
	env := cmd.NewEnv("")
	if c, ok := trace.FromEnvironment(); ok {
		env.Now = func() time.Time { return read(c) }
	}
	os.Exit(cmd.Main(os.Args, env))
}

// read reads the clock, and records for the test what it showed.
func read(c trace.Clock) time.Time {
	now := c.Read(clock.Boot{}.Now())
	e := trace.Entry{Kind: trace.Read, Wall: now.UnixNano(), Real: time.Now().UnixNano(), PID: os.Getpid()}
	if err := trace.Add(e); err != nil {
		fmt.Fprintln(os.Stderr, "trace:", err)
		os.Exit(1)
	}
	return now
}
