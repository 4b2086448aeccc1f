package guard

import (
	"os"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// starter starts a guard.
func (l *leaderrun) Starter() (proc.Starter, error) {
	if !l.gate() {
		return nil, errDead
	}
	ours, theirs := newPipe(), newPipe()
	m := &model{process: newProcess(l.host), died: make(chan struct{})}
	m.line = &end{process: m.process, in: ours, out: theirs}
	m.ended = m.exit
	l.w.mu.Lock()
	l.line = &end{process: l.process, in: theirs, out: ours, sent: l.checkFrame}
	l.host.guard = m.process
	l.w.mu.Unlock()
	l.w.done.Go(func() {
		newGuard(m.line, m).run()
		m.die()
	})

	g := &Client{
		ready: make(chan struct{}), conn: l.line, clock: l, containment: Pgroup,
		patience: killPatience, startsCheck: checkPatience, pingPause: pingPause,
		child: &child{ended: make(chan struct{})}, hello: func() error { return nil },
		sweep: func(*job) bool { return l.sweep(m) },
	}
	close(g.ready)
	g.child.end = func() {
		if l.gate() {
			l.w.lockAndNote(l.host.id, "leaderrun takes over")
			m.die()
		}
	}
	l.w.done.Go(func() { // a dead leaderrun does not wait
		select {
		case <-m.died:
		case <-l.dead:
		}
		close(g.child.ended)
	})
	return g, nil
}

// sweep is the sweep of a Client.
func (l *leaderrun) sweep(m *model) (clean bool) {
	if !l.gate() {
		return true // a dead leaderrun does nothing
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if m.work == nil {
		return m.isDead()
	}
	m.work.signal(syscall.SIGKILL)
	return m.isDead() && !m.work.alive
}

// lockAndNote is note for a caller that does not hold mu.
func (w *world) lockAndNote(host int, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(host, what, 0)
}

// A model is a guard's process, and the host of the guard.
type model struct {
	*process
	line   *end
	signal chan<- os.Signal
	work   *work         // nil: not started
	died   chan struct{} // closed when exit is done
}

// exit does what the system does when a guard ends: it closes the guard's line, and kills its
// child.
func (m *model) exit() {
	m.line.close()
	m.w.mu.Lock()
	if m.work != nil && !m.work.stays {
		m.work.signal(syscall.SIGKILL)
	}
	m.w.mu.Unlock()
	close(m.died)
}

func (m *model) notify(c chan<- os.Signal) { m.signal = c }

func (m *model) container(Tier) (container, string, error) { return m, "", nil }

func (m *model) spawn(c proc.Command, _ *syscall.SysProcAttr) (int, error) {
	if !m.gate() {
		return 0, syscall.ESRCH
	}
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.work = m.host.newWork(c, m.signal)
	return m.work.pid, nil
}

// wait tells a dead guard that it has no child.
func (m *model) wait(ws *syscall.WaitStatus) (int, error) {
	alive := m.gate()
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	g := m.work
	switch {
	case g == nil || g.reaped:
		return 0, syscall.ECHILD
	case g.alive && alive:
		return 0, nil
	}
	g.reaped, *ws = true, g.status
	return g.pid, nil
}

func (m *model) tier() Tier                   { return Subreaper }
func (m *model) prepare(*syscall.SysProcAttr) {}
func (m *model) remove()                      {}
func (m *model) leftByCheck(*guard, int)      {}
func (m *model) nothingLeft(g *guard) bool    { return g.childless }

func (m *model) signalGroup(g *guard, sig syscall.Signal) { m.signalAll(g, sig) }

func (m *model) signalAll(_ *guard, sigs ...syscall.Signal) {
	if !m.gate() {
		return
	}
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for _, sig := range sigs {
		m.work.signal(sig)
	}
}

var (
	_ host      = (*model)(nil)
	_ container = (*model)(nil)
)
