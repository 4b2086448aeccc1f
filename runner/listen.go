package runner

import (
	"cmp"
	"os"
	"sync"

	"github.com/leaderrun/leaderrun/runner/socket"
)

// listen begins to make a socket for the job, and returns what waits for it: that takes
// as long as it takes to lock a file. There is no socket before the term: a leaderrun
// that is killed while it waits has no guard that would remove it.
func (t *term) listen() func() (*socket.Server, error) {
	server := sync.OnceValues(func() (*socket.Server, error) { return t.c.Serve(t.answer) })
	go server() //nolint:errcheck // it is returned again to whoever waits
	return server
}

// socketFiles returns what is left of the socket if nobody closes it.
func (t *term) socketFiles() []string {
	server, err := t.server()
	if err != nil {
		return nil
	}
	return server.Files()
}

// closeSocket removes the socket. If it cannot, what is left is in the temporary
// directory.
func (t *term) closeSocket() {
	if server, err := t.server(); err == nil {
		_ = server.Close()
	}
}

// answer returns what a client of LEADERRUN_SOCKET is told.
func (t *term) answer() socket.Answer {
	e, ends := t.lease.lease.Deadline()
	if !ends {
		e = 0
	}
	return socket.Answer{
		Lock:     t.c.Lock,
		Backend:  cmp.Or(t.c.Store, t.c.Backend),
		Holder:   t.c.Holder,
		Token:    t.grant.Token,
		Slot:     t.slot,
		PID:      os.Getpid(),
		RunID:    t.c.RunID,
		Around:   t.c.around(),
		Lost:     t.lease.lease.Err() != nil,
		Deadline: e,
	}
}
