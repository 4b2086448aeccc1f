package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// begin records that we have begun, and as what, and begins our life.
func begin(what string) (trace.Entry, *trace.Life, error) {
	token, err := fencingToken()
	if err != nil {
		return trace.Entry{}, nil, err
	}
	slot, _ := strconv.Atoi(os.Getenv("LEADERRUN_SLOT")) // 0: the lock has none
	e := trace.Entry{Slot: slot,
		Kind: trace.Start, What: what, Host: os.Getenv(trace.HostVariable), Token: token,
		PID: os.Getpid(), Guard: os.Getppid(), Leaderrun: leaderrun(),
		Life: fmt.Sprintf("%s.%d.%d", os.Getenv(trace.FileVariable), os.Getpid(), time.Now().UnixNano()),
	}
	life, err := trace.Begin(e.Life)
	if err != nil {
		return e, nil, err
	}
	return e, life, trace.Add(e)
}

// fencingToken is ours; 0: we are run by a peer of leaderrun, which has none.
func fencingToken() (uint64, error) {
	if trace.PeerOf() != 0 {
		return 0, nil
	}
	return strconv.ParseUint(os.Getenv("LEADERRUN_TOKEN"), 10, 64)
}

// leaderrun is its process id, by our holder's name: HOST/PID/RANDOM.
func leaderrun() int {
	if peer := trace.PeerOf(); peer != 0 {
		return peer
	}
	parts := strings.Split(os.Getenv("LEADERRUN_HOLDER"), "/")
	if len(parts) != 3 {
		return 0
	}
	pid, _ := strconv.Atoi(parts[1]) // 0 is nobody's
	return pid
}

// finish records how we end.
func finish(e trace.Entry, life *trace.Life, kind string) error {
	e.Kind = kind
	return errors.Join(trace.Add(e), life.End())
}
