//go:build unix

package testscripts

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks/backend/quorum/quorumtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// voters are three standing voters, as users have them.
type voters struct {
	names     []string // "127.0.0.1:port", sorted
	processes []*realserver.Process
	runtime   string // a tmpfs
}

// cmdQuorum is the command
//
//	quorum [LONGEST]
//	quorum start|stop|kill|reboot [SEAT...]
//
// The first form chooses three seats, $H1, $H2 and $H3, and writes a key into $KEY;
// LEADERRUN_BACKEND names them. No lease is longer than LONGEST, 2s unless given. The others start
// the programs of voters in seats, 1 to 3, or in all, wait until they listen, stop and kill them;
// reboot also deletes what is gone after a reboot, and starts them. Their directories are
// $RUNTIME/SEAT and state/SEAT, and what they log is in voterSEAT.log.
func cmdQuorum(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg, "quorum [LONGEST|start|stop|kill|reboot [SEAT...]]")
	w := worldOf(ts)
	if len(args) == 0 {
		args = []string{"2s"}
	}
	if _, err := time.ParseDuration(args[0]); err == nil {
		w.quorum = newVoters(ts, args[0])
		return
	}
	v, seats := w.quorum, []int{1, 2, 3}
	if len(args) > 1 {
		seats = nil
		for _, arg := range args[1:] {
			n, err := strconv.Atoi(arg)
			ts.Check(err)
			seats = append(seats, n)
		}
	}
	for _, n := range seats {
		p := v.processes[n-1]
		switch args[0] {
		case "start":
		case "stop":
			p.Stop()
		case "kill":
			p.Kill()
		case "reboot":
			p.Kill()
			ts.Check(os.RemoveAll(filepath.Join(v.runtime, fmt.Sprint(n))))
		default:
			ts.Fatalf("unknown command quorum %q", args)
		}
	}
	if args[0] == "start" || args[0] == "reboot" {
		for _, n := range seats {
			v.start(n)
		}
	}
}

func newVoters(ts *testscript.TestScript, longest string) *voters {
	w := worldOf(ts)
	v := &voters{runtime: quorumtest.Volatile(w.tb)}
	for range 3 {
		v.names = append(v.names, fmt.Sprintf("127.0.0.1:%d", realserver.FreePort(w.tb)))
	}
	slices.Sort(v.names)
	key := ts.MkAbs("key")
	ts.Check(os.WriteFile(key, []byte("bGVhZGVycnVuIGtub3dzIG5vIGJldHRlciBzZWNyZXQ=\n"), 0o600))
	backend := fmt.Sprintf("quorum://%s?longest=%s&key-file=%s", strings.Join(v.names, ","), longest, key)
	for i, name := range v.names {
		n := fmt.Sprint(i + 1)
		p := &realserver.Process{
			TB: w.tb, Path: released.Path("leaderrun-quorum"), LogFile: ts.MkAbs("voter" + n + ".log"), Env: environ(ts),
			Args: []string{"voter", "--backend", backend, "--seat", name, "--runtime-dir", filepath.Join(v.runtime, n), "--state-dir", ts.MkAbs("state/" + n)},
		}
		w.showLog("voter "+n, p.Log)
		v.processes = append(v.processes, p)
		ts.Setenv("H"+n, name)
	}
	ts.Setenv("KEY", key)
	ts.Setenv("RUNTIME", v.runtime)
	ts.Setenv("LEADERRUN_BACKEND", backend)
	return v
}

// start starts the voter in a seat, and waits until it listens.
func (v *voters) start(seat int) {
	p := v.processes[seat-1]
	p.Start()
	p.WaitReady(func() bool {
		conn, err := net.Dial("tcp", v.names[seat-1])
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}
