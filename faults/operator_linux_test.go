package faults

import (
	"encoding/json"
	"strconv"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// askToResign asks the holder to resign, as an operator does, on the host that is harmed. What
// the operator is told is judged: see trace.Resigned.
func askToResign(n *nemesis, m *machine) bool {
	var now struct {
		Locks []struct {
			State string
			Token uint64
		}
	}
	out, status := m.operate("status", "-l", lockName, "-o", "json")
	if status != 0 || json.Unmarshal(out, &now) != nil || len(now.Locks) != 1 || now.Locks[0].State != "held" {
		return false
	}
	token := now.Locks[0].Token
	_, status = m.operate("resign", "-l", lockName, "--if-token", strconv.FormatUint(token, 10), "-w", n.length.String())
	if status == 0 {
		n.c.note(trace.Entry{Kind: trace.Resigned, Token: token})
	}
	return true
}

// operate runs a subcommand, and returns what it printed, and its status as a shell shows it; -1:
// the host had no task for it.
func (m *machine) operate(args ...string) (out []byte, status int) {
	cmd := m.Command(built.Path("leaderrun"), append(args, "--connect-timeout", "2")...)
	cmd.Env = m.environment()
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		return nil, -1
	}
	return out, programs.Status(cmd.ProcessState)
}
