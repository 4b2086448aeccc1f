package operate

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// react runs the command of --exec for a change, and waits for it: what changes
// meanwhile is reported together afterwards. A failure is a warning.
func (p *operator) react(ctx context.Context, command proc.Command, c view.Change) {
	var err error
	var state *os.ProcessState
	process, err := os.StartProcess(command.Path, command.Args, &os.ProcAttr{
		Env:   changeEnvironment(os.Environ(), c),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err == nil {
		stop := context.AfterFunc(ctx, func() { end(process) })
		state, err = process.Wait()
		stop()
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		p.Console.Log().Warn("--exec could not be run", "err", proc.NewStartError(command.Path, err))
	case !state.Success():
		p.Console.Log().Warn("--exec failed", "err", fmt.Errorf("%s: %s", command.Args[0], state))
	}
}

// reactGrace is how long a command may take to end when we are told to.
const reactGrace = 5 * time.Second

// end has a process end: it may be in the midst of what is to be done whole. Where it
// cannot be asked it is killed.
func end(process *os.Process) {
	if process.Signal(syscall.SIGTERM) == nil {
		time.Sleep(reactGrace)
	}
	_ = process.Kill() // it may have ended long ago
}

// changeEnvironment is that of a command. What we were told ourselves by such names,
// as the job of a leaderrun or as a command of another watch, is not about this change.
func changeEnvironment(ours []string, c view.Change) []string {
	env := slices.DeleteFunc(ours, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(changeNames, name)
	})
	return append(env, changeVariables(c)...)
}

var changeNames = []string{"LEADERRUN_EVENT", "LEADERRUN_PREVIOUS", "LEADERRUN_REASON",
	"LEADERRUN_LOCK_NAME", "LEADERRUN_STATE", "LEADERRUN_LEADER", "LEADERRUN_TOKEN"}

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
