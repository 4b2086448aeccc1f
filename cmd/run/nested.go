package run

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// Nested use: a leaderrun that is to take a lock which a leaderrun around it
// holds would wait for itself. It runs its command under that lease instead, by
// exec, and the outer one goes on to supervise.
//
// To run under the lease of another store would break the exclusion there, so
// that it is the same lock must be known, and there are two ways to know it. If
// the store is spelled in the same way, it is the same, and need not be
// contacted. Else the store is asked as ever, and if it says that the lock is
// held by the very run that holds it around us, it is the same store: a run's
// id is random, and only told to the store that keeps its lock. The token, too,
// must be the same, as a run may have left an older record behind. A record
// without the id proves nothing: then the lock is waited for.
//
// That the variable with the socket is there says nothing, either: what a job has others
// start (at, systemd-run, a server of terminals) inherits it, and lives on when the job
// is killed. So the answering side looks who asks.

// askLimit is how long a leaderrun around us may take to answer.
const askLimit = time.Second

// A nest is what we know of the leaderruns around us.
type nest struct {
	store string        // where we are to take the lock
	inner int           // the process id of the innermost one
	links []socket.Link // those with a lock of the name in question, from the inside out
}

func (s *session) nest(backend *url.URL) *nest {
	n := &nest{store: store(backend, os.Environ())}
	for link, err := range socket.Chain(os.Getenv("LEADERRUN_SOCKET"), askLimit) {
		if link.Outside { // whose job nobody would end with that lease
			break
		}
		if n.inner == 0 {
			n.inner = link.PID
		}
		if err == nil && link.Lock == s.Lock && (link.Slot > 0) == s.Slots.Given {
			n.links = append(n.links, link)
		}
	}
	return n
}

// inStore returns the one whose store is spelled as ours.
func (n *nest) inStore() (socket.Link, bool) {
	i := slices.IndexFunc(n.links, func(l socket.Link) bool { return n.store != "" && l.Backend == n.store })
	if i < 0 {
		return socket.Link{}, false
	}
	return n.links[i], true
}

// holds returns a function that reports whether one of them is the holder, or nil if
// there are none.
func (n *nest) holds() func(locks.Status) bool {
	if len(n.links) == 0 {
		return nil
	}
	return func(s locks.Status) bool {
		_, ok := n.holder(s)
		return ok
	}
}

// holder returns the one that a store says is the holder.
func (n *nest) holder(s locks.Status) (socket.Link, bool) {
	i := slices.IndexFunc(n.links, func(l socket.Link) bool { return isHolder(l.Answer, s) })
	if i < 0 {
		return socket.Link{}, false
	}
	return n.links[i], true
}

// isHolder reports whether a status is certainly about the lock of an answer.
func isHolder(a socket.Answer, s locks.Status) bool {
	return a.RunID != "" && s.RunID == a.RunID && a.Token != 0 && s.Token == a.Token && s.Holder == a.Holder
}

// enter runs the command under the lease of whom the store said to hold it.
// That this one does not hold it any more now means that it is about to end us.
func (s *session) enter(n *nest, e *runner.OuterError, command proc.Command) error {
	outer, _ := n.holder(e.Status)
	again, err := s.reenter(n, outer, command)
	if !again {
		return fmt.Errorf("%w: the leaderrun around this one holds %q no longer", locks.ErrLost, outer.Lock)
	}
	return err
}

// reenter runs the command under an outer lease, if that is surely held now.
// Otherwise the first result is false. LEADERRUN_SOCKET stays the innermost:
// from there all others are found.
func (s *session) reenter(n *nest, outer socket.Link, command proc.Command) (bool, error) {
	a, err := socket.Ask(outer.Path, askLimit)
	if err != nil || a.Lock != outer.Lock || a.Slot != outer.Slot || a.Token != outer.Token || a.RunID != outer.RunID || !a.Ours(clock.Boot{}.Now()) {
		return false, nil
	}
	command.Env = runner.WithLease(command.Env, a.Lock, a.Holder, a.Token, a.Slot)
	s.Term.Drain()
	status, err := become(command, n.inner)
	if err != nil {
		return true, err
	}
	return true, output.ExitWith(status)
}

// store says in which store a backend keeps its locks, for comparing: its
// address, and what else may say where that is, but for credentials. Two that
// differ may yet be the same store. "" says nothing: of a backend that is not
// ours we do not know what it heeds.
func store(backend *url.URL, env []string) string {
	info := known.Find(backend.Scheme)
	if info == nil {
		return ""
	}
	said := []string{fmt.Sprintf("uid=%d", os.Geteuid())} // the default directory of file is another one for root
	for _, kv := range env {
		if key, _, _ := strings.Cut(kv, "="); info.SaysWhere(key) {
			said = append(said, kv)
		}
	}
	slices.Sort(said)
	return strings.Join(append([]string{locks.Redact(info.Where(backend))}, said...), "\n")
}
