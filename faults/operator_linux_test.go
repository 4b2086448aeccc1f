package faults

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// askToResign asks the holder to resign, as an operator does, on the host that is harmed. What
// the operator is told is judged: see trace.Resigned.
func askToResign(n *nemesis, m *machine) bool {
	token, _ := m.held()
	if token == 0 {
		return false
	}
	_, status := m.operate("resign", "-l", lockName, "--if-token", strconv.FormatUint(token, 10), "-w", n.length.String())
	if status == 0 {
		n.c.note(trace.Entry{Kind: trace.Resigned, Token: token})
	}
	return true
}

// takeAway takes the lock away from its holder, as an operator does on the host that is harmed.
// What the operator is told is judged: see trace.Taken. Then time passes in which no job there
// ends by itself: this one must be killed.
func takeAway(n *nemesis, m *machine) bool {
	token, lease := m.held()
	if token == 0 {
		return false
	}
	begin := trace.Now()
	_, status := m.operate("release", "--force", "--yes", "-l", lockName, "--if-token", strconv.FormatUint(token, 10), "--reason", oracle.WhyTaken(token))
	if status == 0 {
		n.c.note(trace.Entry{Kind: trace.Taken, Token: token, Call: begin, Expiry: trace.Now().Add(lease)})
	}
	n.length = max(n.length, lease+time.Second)
	n.pass()
	return true
}

// held returns the token of the present term, or 0, and the length of its lease.
func (m *machine) held() (token uint64, lease time.Duration) {
	var now struct {
		Locks []struct {
			State string
			Token uint64
			TTL   int64 `json:"ttl_ms"`
		}
	}
	out, status := m.operate("status", "-l", lockName, "-o", "json")
	if status != 0 || json.Unmarshal(out, &now) != nil || len(now.Locks) != 1 || now.Locks[0].State != "held" {
		return 0, 0
	}
	l := now.Locks[0]
	return l.Token, cmp.Or(time.Duration(l.TTL)*time.Millisecond, ttl)
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
