package runner

import (
	"cmp"
	"os"

	"github.com/leaderrun/leaderrun/runner/socket"
)

// A listening is a socket for the job that is made while other things are done: it takes
// as long to make as a lock of the file backend to take. It is not there before the term:
// who is killed while waiting has no guard that would remove it.
type listening struct {
	done   chan struct{} // closed when the rest is set
	server *socket.Server
	err    error
}

func (r *run) listen() *listening {
	l := &listening{done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.server, l.err = r.Serve(r.answer)
	}()
	return l
}

// path returns the socket's path, or why there is none.
func (l *listening) path() (string, error) {
	<-l.done
	if l.err != nil {
		return "", l.err
	}
	return l.server.Path(), nil
}

// files are what is left of the socket if nobody closes it.
func (l *listening) files() []string {
	<-l.done
	if l.err != nil {
		return nil
	}
	return l.server.Files()
}

// close removes the socket. If it cannot, what is left is in the temporary
// directory.
func (l *listening) close() {
	<-l.done
	if l.err == nil {
		_ = l.server.Close()
	}
}

// answer is what a client of LEADERRUN_SOCKET is told. One that comes before
// the lock is ours waits with us.
func (r *run) answer() socket.Answer {
	select {
	case <-r.held:
	case <-r.over:
		return socket.Answer{Lock: r.Lock, Lost: true}
	}
	e, ends := r.lease.Deadline()
	if !ends {
		e = 0
	}
	return socket.Answer{
		Lock:     r.Lock,
		Backend:  cmp.Or(r.Store, r.Backend),
		Holder:   r.Holder,
		Token:    r.grant.Token,
		Slot:     r.slot,
		PID:      os.Getpid(),
		RunID:    r.RunID,
		Around:   r.around(),
		Lost:     r.lease.Err() != nil,
		Deadline: e,
	}
}
