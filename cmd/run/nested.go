package run

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// Nested use: if a leaderrun inside a job took the lock that an enclosing leaderrun
// holds, it would wait for itself. Instead it runs its command under that lease, by
// exec, and the enclosing leaderrun supervises the command.
//
// Running under the lease of another store would break the exclusion there, so we must
// know that it is the same lock. There are two ways. If the store is spelled in the same
// way, it is the same, and we need not contact it. Otherwise we ask the store as usual. If
// it says that the holder is the very run that encloses us, it is the same store, because
// a run's id is random, and only the store that keeps its lock knows it. The token must be
// the same as well, because a run may have left an older record behind. A record without
// the id proves nothing: then we wait for the lock.
//
// The variable with the socket proves nothing either. A process that the job has others
// start (at, systemd-run, a terminal server) inherits it, and survives when the job is
// killed. So the enclosing leaderrun checks which process asks.
//
// If an enclosing leaderrun does not answer, we cannot know, and take the lock like anyone
// else. If that is the lock of our job, we say that we wait for ourselves.

// askLimit is how long an enclosing leaderrun may take to answer.
const askLimit = time.Second

// A nest is what we know of the enclosing leaderruns.
type nest struct {
	runner.Unobserved

	lock  string        // the name of ours
	store string        // which store our lock is in; "" means that we cannot tell
	inner int           // the process id of the innermost leaderrun
	links []socket.Link // those whose lock has our lock's name, from the inside out

	log          *slog.Logger
	silent       error     // why an enclosing leaderrun did not answer, or nil
	said         sync.Once // that it did not
	refuse, warn []string  // see session.ineffective
}

func (s *session) nest(backend *url.URL, r *options.Invocation, logger *slog.Logger) *nest {
	n := &nest{lock: s.opt.Lock, store: store(backend, os.Environ()), log: logger}
	n.refuse, n.warn = s.ineffective(r)
	for link, err := range socket.Chain(os.Getenv("LEADERRUN_SOCKET"), askLimit) {
		n.silent = err
		if err != nil || link.Outside { // we are not part of its job, so nobody would end us with its lease
			break
		}
		if n.inner == 0 {
			n.inner = link.PID
		}
		if link.Lock == s.opt.Lock && (link.Slot > 0) == s.opt.Slots.Given {
			n.links = append(n.links, link)
		}
	}
	return n
}

// Waiting warns if the lock for which we wait is probably that of our job.
func (n *nest) Waiting(w locks.Waiting) {
	if n.silent != nil && n.lock == os.Getenv("LEADERRUN_LOCK_NAME") && w.Status.Holder == os.Getenv("LEADERRUN_HOLDER") {
		n.said.Do(func() {
			n.log.Warn("LEADERRUN_SOCKET does not answer; inside the job of this lock, this run waits for itself", "err", n.silent)
		})
	}
}

// find returns the innermost link that fits.
func (n *nest) find(fits func(socket.Link) bool) (socket.Link, bool) {
	for _, l := range n.links {
		if fits(l) {
			return l, true
		}
	}
	return socket.Link{}, false
}

// inStore returns the link whose store is spelled like ours.
func (n *nest) inStore() (socket.Link, bool) {
	return n.find(func(l socket.Link) bool { return n.store != "" && l.Store == n.store })
}

// holder returns the link that a store says is the holder.
func (n *nest) holder(s locks.Status) (socket.Link, bool) {
	return n.find(func(l socket.Link) bool { return isHolder(l.Answer, s) })
}

// isHolder reports whether a status is certainly about the lock of an answer.
func isHolder(a socket.Answer, s locks.Status) bool {
	return a.RunID != "" && s.RunID == a.RunID && a.Token != 0 && s.Token == a.Token && s.Holder == a.Holder
}

// enter runs the command under the lease of the leaderrun that the store says is the
// holder. If it no longer holds the lock, it is about to end us, as part of its job.
func (s *session) enter(n *nest, e *runner.OuterError, command proc.Command) error {
	s.end() // the command would have the guard as a child that it does not know
	outer, _ := n.holder(e.Status)
	ran, err := s.reenter(n, outer, command, e.Secrets)
	if !ran {
		return fmt.Errorf("%w: the leaderrun around this one holds %q no longer", locks.ErrLost, outer.Lock)
	}
	return err
}

// reenter runs the command under the lease of an enclosing leaderrun. If it is not certain
// that the lease is held now, ran is false. LEADERRUN_SOCKET remains that of the innermost
// leaderrun, from which all others are found. The enclosing leaderrun may have another
// --scrub-env, so ours applies.
func (s *session) reenter(n *nest, outer socket.Link, command proc.Command, secrets []string) (ran bool, err error) {
	a, err := socket.Ask(outer.Address, askLimit)
	if err != nil || a.Lock != outer.Lock || a.Slot != outer.Slot || a.Token != outer.Token || a.RunID != outer.RunID || !a.Ours(clock.Boot{}.Now()) {
		return false, nil
	}
	if err := n.admit(); err != nil {
		return true, err
	}
	if s.opt.ScrubEnv {
		command.Env = runner.Scrubbed(command.Env, secrets)
	}
	command.Env = runner.WithLease(command.Env, a.Lock, a.Holder, a.Token, a.Slot)
	s.env.Console.Drain()
	if s.signals != nil {
		signal.Stop(s.signals.caught) // from now on they end us, and then the command
	}
	if err := s.signals.ended(); err != nil {
		return true, err
	}
	signals.RestoreRTMIN()
	return true, proc.Exec(command, n.inner)
}
