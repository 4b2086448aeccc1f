package cmd

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// react runs the command of --exec for a change, and waits for it: what changes
// meanwhile is seen together afterwards. That it fails is a warning.
func (p *program) react(ctx context.Context, command proc.Command, c view.Change) {
	var err error
	var state *os.ProcessState
	process, err := os.StartProcess(command.Path, command.Args, &os.ProcAttr{
		Env:   append(os.Environ(), changeVariables(c)...),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = process.Kill() })
		state, err = process.Wait()
		stop()
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		p.term.log.Warn("--exec could not be run", "err", proc.NewStartError(command.Path, err))
	case !state.Success():
		p.term.log.Warn("--exec failed", "err", fmt.Errorf("%s: %s", command.Args[0], state))
	}
}

// changeVariables tell a command what has changed.
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
