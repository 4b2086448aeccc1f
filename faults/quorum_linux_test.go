package faults

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/faults/host"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/quorumtest"
)

// quorumStore is a standing voter on each host, as users have it. The runs are candidates.
func quorumStore(t *testing.T, _ plan) *store {
	v := &voters{t: t, dir: t.TempDir(), volatile: quorumtest.Volatile(t)}
	key := filepath.Join(v.dir, "key")
	if err := os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString([]byte("a key of 32 bytes for all hosts."))+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &store{
		members: true, begin: v.begin, faults: v.faults(),
		env: func(addrs []string) []string {
			return backend("quorum", addrs, fmt.Sprintf("?key-file=%s&longest=%v", key, ttl))
		},
	}
}

// voters are those of a cell's hosts.
type voters struct {
	t             *testing.T
	dir, volatile string // what stays, and what is gone after a reboot
	all           []*standing
}

// A standing voter is one process after the other. One that ends by itself, for example because
// the host is out of tasks, is started again, as by a service manager.
type standing struct {
	m              *machine
	runtime, state string

	mu    sync.Mutex
	cmd   *host.Cmd
	ended chan struct{} // closed when cmd has ended
}

// begin starts all voters. They end with the hosts.
func (v *voters) begin(c *cell) {
	for _, m := range c.hosts {
		s := &standing{m: m, runtime: filepath.Join(v.volatile, m.name), state: filepath.Join(v.dir, m.name)}
		v.all = append(v.all, s)
		s.start()
	}
	v.t.Cleanup(func() {
		for _, s := range v.all {
			s.end(unix.SIGKILL)
		}
	})
}

func (s *standing) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, err := os.OpenFile(s.log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.m.must(err)
		return
	}
	defer func() { _ = log.Close() }()
	url := strings.TrimPrefix(s.m.c.store.env(s.m.addresses())[0], "LEADERRUN_BACKEND=")
	cmd, ended := s.m.Command(built.Path("leaderrun-quorum"), "voter", "-b", url, "--runtime-dir", s.runtime, "--state-dir", s.state), make(chan struct{})
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		s.m.must(err)
		return
	}
	s.cmd, s.ended = cmd, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
		time.Sleep(100 * time.Millisecond)
		s.mu.Lock()
		again := s.cmd == cmd
		s.mu.Unlock()
		if again {
			s.start()
		}
	}()
}

func (s *standing) log() string { return s.m.c.file("voter-" + s.m.name) }

// end ends the voter, by a signal, and waits for that.
func (s *standing) end(sig unix.Signal) {
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	s.cmd = nil
	s.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Signal(sig)
		<-ended
	}
}

func (s *standing) signal(sig unix.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig)
	}
}

// faults returns the faults of voters.
func (v *voters) faults() []fault {
	any := func(r *rand.Rand) *standing { return v.all[r.IntN(len(v.all))] }
	one := func(name string, do func(n *nemesis, s *standing)) fault {
		return fault{name, func(n *nemesis, _ *machine) bool { do(n, any(n.rand)); return true }}
	}
	remove := func(path string) { v.all[0].m.must(os.RemoveAll(path)) }
	return []fault{
		one("voter restarted", func(_ *nemesis, s *standing) { s.end(unix.SIGTERM); s.start() }),
		one("voter killed", func(_ *nemesis, s *standing) { s.end(unix.SIGKILL); s.start() }),
		one("voter down", func(n *nemesis, s *standing) { s.end(unix.SIGKILL); n.pass(); s.start() }),
		one("voter frozen", func(n *nemesis, s *standing) { s.signal(unix.SIGSTOP); n.pass(); s.signal(unix.SIGCONT) }),
		one("voter's host started again", func(_ *nemesis, s *standing) { s.end(unix.SIGKILL); remove(s.runtime); s.start() }),
		one("voter's token removed", func(_ *nemesis, s *standing) {
			s.end(unix.SIGTERM)
			remove(filepath.Join(s.state, "floor"))
			s.start()
		}),
		{"all voters restarted in turn", func(*nemesis, *machine) bool {
			for _, s := range v.all {
				s.end(unix.SIGTERM)
				time.Sleep(100 * time.Millisecond)
				s.start()
			}
			return true
		}},
		{"all voters killed", func(n *nemesis, _ *machine) bool {
			for _, s := range v.all {
				s.end(unix.SIGKILL)
			}
			if n.rand.IntN(2) == 0 { // as in a power cut
				for _, s := range v.all {
					remove(s.runtime)
				}
			}
			for _, s := range v.all {
				s.start()
			}
			return true
		}},
	}
}
