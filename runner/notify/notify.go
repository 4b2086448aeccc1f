// Package notify tells the service manager that started us, such as systemd,
// how we are: sd_notify(3), the service's end of the protocol.
//
// Each message is one datagram of lines VARIABLE=VALUE, sent to the socket in
// NOTIFY_SOCKET. A manager that is gone, or does not read, must not hold up a
// job, so nothing here blocks. What changes the manager's mind for good
// ([Manager.Tell]) is kept until it has room for it; what is true only now
// ([Manager.Ping]) is said now or not at all.
package notify

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// again is the pause before a manager that has no room is told again.
const again = 100 * time.Millisecond

// A Manager is the service manager that wants to hear of us. Its methods are
// safe for concurrent use, do not block, and do nothing on a nil Manager.
type Manager struct {
	watchdog time.Duration
	logger   *slog.Logger

	mu      sync.Mutex
	socket  *socket     // nil: closed
	pending []string    // what was told and has not been sent
	retry   *time.Timer // nil: nothing is pending
	warned  bool
}

// FromEnvironment returns the manager that an environment names, or nil if it
// names none. The process id is ours: the watchdog may be another process's.
func FromEnvironment(env []string, pid int, logger *slog.Logger) *Manager {
	address := value(env, socketVariable)
	if address == "" {
		return nil
	}
	m := &Manager{watchdog: watchdog(env, pid), logger: logger}
	var err error
	if m.socket, err = open(address); err != nil {
		m.warn(err)
		return nil
	}
	return m
}

// Watchdog is how long the manager bears not to hear WATCHDOG=1; 0: for ever.
func (m *Manager) Watchdog() time.Duration {
	if m == nil {
		return 0
	}
	return m.watchdog
}

// Tell sends a state, as lines of VARIABLE=VALUE. If the manager has no room
// for it, it gets it later; meanwhile a newer value takes the place of an older.
func (m *Manager) Tell(state ...string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = merge(m.pending, state)
	m.flush()
}

// Ping sends a state now, and reports whether it could.
func (m *Manager) Ping(state ...string) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.socket == nil {
		return false
	}
	err := m.socket.send(message(state))
	m.warn(err)
	return err == nil
}

// Close tries once more to send what is left, and ends the manager.
func (m *Manager) Close() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flush()
	if m.retry != nil {
		m.retry.Stop()
	}
	if m.socket != nil {
		m.socket.close()
		m.socket = nil
	}
}

// flush sends what is pending, or sees to it that this is tried again. mu is
// held.
func (m *Manager) flush() {
	if m.socket == nil || len(m.pending) == 0 {
		return
	}
	err := m.socket.send(message(m.pending))
	m.warn(err)
	if !isFull(err) { // another failure is for good: the socket is gone, or was none
		m.pending = nil
		return
	}
	if m.retry == nil {
		m.retry = time.AfterFunc(again, m.flushLater)
	} else {
		m.retry.Reset(again)
	}
}

func (m *Manager) flushLater() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flush()
}

// warn says once that the manager does not hear us, to who looks closely: the
// job is none the worse for it.
func (m *Manager) warn(err error) {
	if err == nil || m.warned {
		return
	}
	m.warned = true
	m.logger.Info("the service manager does not hear us", "err", err)
}

// merge adds lines to a state; each replaces the one with its variable.
func merge(state, lines []string) []string {
	for _, line := range lines {
		key, _, _ := strings.Cut(line, "=")
		state = slices.DeleteFunc(state, func(old string) bool { return strings.HasPrefix(old, key+"=") })
		state = append(state, line)
	}
	return state
}

func message(state []string) []byte { return []byte(strings.Join(state, "\n")) }
