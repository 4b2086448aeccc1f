// Package notify reports our state to the service manager that started us, such as systemd.
// It is the service's side of the protocol of sd_notify(3).
//
// Each message is one datagram of lines VARIABLE=VALUE, sent to the socket in
// NOTIFY_SOCKET. Nothing here blocks, because a manager that has gone or does not read must
// not delay a job. [Manager.Tell] keeps its lines until the manager has room for them.
// [Manager.Ping] does not, because its lines are only true now. After STOPPING=1 there must be no
// ping: it would rearm a watchdog that the manager has disarmed.
package notify

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// retryPause is the pause before another attempt if the manager has no room.
const retryPause = 100 * time.Millisecond

// A Manager is the service manager that started us. Its methods may be called
// concurrently, do not block, and do nothing if the Manager is nil.
type Manager struct {
	watchdog time.Duration
	logger   *slog.Logger

	mu      sync.Mutex
	socket  *socket     // nil: closed
	pending []string    // lines that have not been sent
	retry   *time.Timer // nil: nothing is pending
	warned  bool
}

// FromEnvironment returns the manager that an environment names, or nil. The process id is
// ours: a watchdog for another process does not count.
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

// Watchdog returns how long the manager waits for the next WATCHDOG=1, or 0 for ever.
func (m *Manager) Watchdog() time.Duration {
	if m == nil {
		return 0
	}
	return m.watchdog
}

// Tell sends a state, as lines of VARIABLE=VALUE. If the manager has no room, it gets them
// later; until then, a newer value replaces an older one.
func (m *Manager) Tell(state ...string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = merge(m.pending, state)
	m.flush()
}

// Ping sends a state now. It reports whether that was possible.
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

// Close tries once more to send the lines that are left, and closes the socket.
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

// flush sends the pending lines. If there is no room, it arranges another attempt. The
// caller holds mu.
func (m *Manager) flush() {
	if m.socket == nil || len(m.pending) == 0 {
		return
	}
	err := m.socket.send(message(m.pending))
	m.warn(err)
	if !isFull(err) { // another attempt would fail as well: there is no socket
		m.pending = nil
		return
	}
	if m.retry == nil {
		m.retry = time.AfterFunc(retryPause, m.flushLater)
	} else {
		m.retry.Reset(retryPause)
	}
}

func (m *Manager) flushLater() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flush()
}

// warn logs once that the manager cannot be reached. It does so as information, because
// the job does not suffer.
func (m *Manager) warn(err error) {
	if err == nil || m.warned {
		return
	}
	m.warned = true
	m.logger.Info("cannot notify the service manager", "err", err)
}

// merge adds lines to a state. Each replaces the line of the same variable.
func merge(state, lines []string) []string {
	for _, line := range lines {
		key, _, _ := strings.Cut(line, "=")
		state = slices.DeleteFunc(state, func(old string) bool { return strings.HasPrefix(old, key+"=") })
		state = append(state, line)
	}
	return state
}

func message(state []string) []byte { return []byte(strings.Join(state, "\n")) }
