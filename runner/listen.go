package runner

import (
	"os"
	"sync"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// listen begins to make a socket for the job, and returns a function that waits for it,
// because making it takes as long as locking a file. There is no socket before the term,
// because a leaderrun that is killed while it waits has no guard that would remove it.
func (t *term) listen() func() (*socket.Server, error) {
	server := sync.OnceValues(func() (*socket.Server, error) { return t.r.Serve(t.answer) })
	go server() //nolint:errcheck // each call of server returns the error
	return server
}

// socketFiles returns the files that are left if the socket is not closed.
func (t *term) socketFiles() []string {
	server, err := t.server()
	if err != nil {
		return nil
	}
	return server.Files()
}

// removeSocket is term.closeSocket, the first time. Files that it cannot remove are in the
// temporary directory.
func (t *term) removeSocket() {
	if server, err := t.server(); err == nil {
		_ = server.Close()
	}
}

// answer returns the answer to a client of LEADERRUN_SOCKET.
func (t *term) answer() socket.Answer {
	deadline := t.lease.expiry()
	if deadline == clock.Never {
		deadline = 0
	}
	return socket.Answer{
		Lock:     t.r.Lock,
		Store:    t.r.Store,
		Holder:   t.r.Holder,
		Token:    t.grant.Token,
		Slot:     t.slot,
		PID:      os.Getpid(),
		RunID:    t.r.RunID,
		Lost:     t.lease.ended(),
		Deadline: deadline,
		Now:      t.r.Clock.Now(), // after the deadline was read
	}
}
