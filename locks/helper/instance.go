package helper

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// An instance is one run of the helper program, and the session with it.
type instance struct {
	session *session
	process *process
	gone    chan struct{} // closed when the process is reaped and its output read
}

// launch tells a started helper to open the backend, and does not wait for the answer.
// The caller holds l.mu, or is the only user of the Lock.
func (l *Lock) launch(p *process, s *session) error {
	l.at = &instance{session: s, process: p, gone: make(chan struct{})}
	s.kill = p.kill
	go s.hurry(l.open.ConnectTimeout)
	go l.supervise(l.at)
	_, err := s.send(context.Background(), l.open)
	return err
}

// newSession makes a session with a helper that has not said anything yet.
func (l *Lock) newSession(p *process) *session {
	s := newSession(l.scheme, l.where, p.input.w)
	s.clean, s.lost, s.asked = l.clean, l.lost, l.asked
	return s
}

// supervise reads the helper's messages until it has ended.
func (l *Lock) supervise(in *instance) {
	defer close(in.gone)
	f := newForwarder(l.scheme, l.log, l.clean)
	logged := f.start(in.process.stderr)
	if err := in.session.read(in.process.stdout); !errors.Is(err, io.EOF) {
		in.session.fail(err)
	}
	if !closedWithin(in.process.exited, closeTimeout) {
		in.session.fail(fmt.Errorf("%s closed its output, but did not end", in.process.name))
		<-in.process.exited
	}
	closedWithin(logged, drainTimeout)
	in.session.fail(in.process.exitError(f.lastLines()))
	in.process.closeOutput()
	<-logged
	if in.session.hasServed() { // otherwise only the next request starts another, or a helper that cannot work would be restarted forever
		l.serving()
	}
}

// close ends the helper and waits until it is gone.
func (in *instance) close() error {
	in.session.end(errClosed)
	defer in.process.input.close()
	if closedWithin(in.gone, closeTimeout) {
		return nil
	}
	in.process.kill()
	if closedWithin(in.gone, killTimeout) || isClosed(in.process.exited) {
		return nil // at worst our log blocks, and with it the reading of the helper's log
	}
	return fmt.Errorf("%s (process %d) was killed, but is still running", in.process.name, in.process.child.pid)
}

// last returns the latest instance.
func (l *Lock) last() *instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at
}
