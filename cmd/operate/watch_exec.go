package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// reactGrace is how long the command may take to end after we have been told to end.
const reactGrace = 5 * time.Second

// react runs the command of --exec for a change and waits for it. Changes that happen
// meanwhile are reported together afterwards. A failure is a warning.
func (p *operator) react(ctx context.Context, command proc.Command, c view.Change) {
	run := exec.CommandContext(ctx, command.Path)
	run.Path, run.Args, run.Err = command.Path, command.Args, nil // proc.Find has found the path
	run.Env = changeEnvironment(os.Environ(), c)
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	run.WaitDelay = reactGrace
	run.Cancel = func() error { // the command may be in the middle of something
		return run.Process.Signal(syscall.SIGTERM)
	}
	err := run.Run()
	var exit *exec.ExitError
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, &exit):
		p.env.Console.Log().Warn("--exec failed", "err", fmt.Errorf("%s: %w", command.Args[0], err))
	default:
		p.env.Console.Log().Warn("--exec could not be run", "err", proc.NewStartError(command.Path, err))
	}
}

// changeEnvironment returns the environment of the command. It removes variables with the
// same names that we have inherited, as the job of a leaderrun or as the command of another
// watch, because they are not about this change.
func changeEnvironment(ours []string, c view.Change) []string {
	env := slices.DeleteFunc(ours, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(changeNames, name)
	})
	return append(env, changeVariables(c)...)
}

var changeNames = []string{"LEADERRUN_EVENT", "LEADERRUN_PREVIOUS", "LEADERRUN_REASON",
	"LEADERRUN_LOCK_NAME", "LEADERRUN_STATE", "LEADERRUN_LEADER", "LEADERRUN_TOKEN"}

// changeVariables returns the variables that describe a change.
func changeVariables(c view.Change) []string {
	j := c.JSON()
	env := []string{"LEADERRUN_EVENT=" + j.Event, "LEADERRUN_PREVIOUS=" + j.Previous}
	if c.Trouble != nil {
		env = append(env, "LEADERRUN_REASON="+locks.Printable(c.Trouble.Error()))
	}
	if c.Lock != nil {
		env = append(env, "LEADERRUN_LOCK_NAME="+c.Lock.Name, "LEADERRUN_STATE="+j.State,
			"LEADERRUN_LEADER="+j.Holder, "LEADERRUN_TOKEN="+strconv.FormatUint(j.Token, 10))
	}
	return env
}
