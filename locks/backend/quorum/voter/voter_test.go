package voter

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
)

// A rig is one voter of three, which a test asks directly.
type rig struct {
	t *testing.T
	c Config
	v *Voter
}

var names = []string{"h1:1", "h2:1", "h3:1"}

const ttl = 10 * time.Second

// newRig starts a voter that votes at once.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, c: Config{
		Group: Group(names, ttl), Names: names, Seat: 1, Log: slog.New(slog.DiscardHandler),
		Runtime: volatile(t), State: t.TempDir(),
	}}
	r.start()
	r.open()
	t.Cleanup(func() { r.v.Close() })
	return r
}

// volatile makes a directory on a tmpfs.
func volatile(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "leaderrun-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (r *rig) start() {
	r.t.Helper()
	v, err := New(r.c)
	if err != nil {
		r.t.Fatal(err)
	}
	r.v = v
}

// open lets the time pass for which the voter abstains.
func (r *rig) open() {
	r.v.mu.Lock()
	defer r.v.mu.Unlock()
	_ = r.v.promises.open(r.v.clock.Now(), drift())
	r.v.promises.head.Opens = r.v.clock.Now()
	_ = r.v.promises.rewrite()
	clear(r.v.locks)
}

// restart ends the voter, does something, and starts it again.
func (r *rig) restart(meanwhile func()) {
	r.t.Helper()
	r.v.Close()
	if meanwhile != nil {
		meanwhile()
	}
	r.start()
}

const lock = "nightly"

// ask asks for a vote, and returns it.
func (r *rig) ask(candidate string, token uint64) votes.Answer {
	r.t.Helper()
	a := votes.Ask{Group: r.c.Group, Term: votes.Term{Candidate: candidate, Number: 1}, Round: 1, TTL: min(ttl, r.c.Group.Longest), Token: token}
	all := r.v.receive(wire.Packet{Vote: votes.Message{Lock: lock, Ask: &a}}, place{})
	if len(all) == 0 {
		return votes.Answer{}
	}
	return *all[0].packet.Vote.Answer
}

func (r *rig) wants(candidate string, token uint64, want votes.Vote) {
	r.t.Helper()
	if got := r.ask(candidate, token); got.Vote != want {
		r.t.Errorf("%s: got %+v; want %q", candidate, got, want)
	}
}

// A voter that is started again in the same boot continues: it is bound as before, and votes at
// once. What it was told to withdraw or to refuse, it still knows.
func TestContinues(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wants("a", 0, votes.Granted)
	r.wants("a", 7, votes.Granted)
	r.restart(nil)
	if got := r.ask("b", 0); got.Vote != votes.Bound || got.To.Candidate != "a" || got.Named != 7 || got.Left > ttl {
		t.Errorf("got %+v; want bound to a", got)
	}
	r.wants("a", 7, votes.Granted)
	r.v.mu.Lock()
	ended := r.v.end([2]string{"", lock}, 7)
	r.v.mu.Unlock()
	if !ended {
		t.Error("the term could not be ended")
	}
	r.restart(nil)
	r.wants("a", 7, votes.Ended)
	r.wants("b", 0, votes.Bound)
	r.v.receive(wire.Packet{Vote: votes.Message{Lock: lock, Withdrawal: &votes.Withdrawal{Term: votes.Term{Candidate: "a", Number: 1}}}}, place{})
	r.restart(nil)
	r.wants("b", 0, votes.Granted)
}

// A voter that is started again before it may vote does not vote sooner, or later, for that.
func TestOpensIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.restart(func() { _ = os.Remove(r.promises()) })
	opens := r.v.promises.head.Opens
	if _, left := r.v.Abstains(); left <= 9*time.Second || left > ttl {
		t.Fatalf("it abstains for %v", left)
	}
	for range 3 {
		r.restart(nil)
		r.wants("a", 0, votes.Abstains)
		if got := r.v.promises.head.Opens; got != opens {
			t.Errorf("it opens at %v; want %v", got, opens)
		}
	}
}

func (r *rig) promises() string { return filepath.Join(r.c.Runtime, "promises") }

// What is not exactly as we would have written it is not continued.
func TestAbstains(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("promises are only continued on Linux")
	}
	for name, change := range map[string]func(r *rig){
		"no file":      func(r *rig) { _ = os.Remove(r.promises()) },
		"empty":        func(r *rig) { r.write(nil) },
		"half a line":  func(r *rig) { b := r.read(); r.write(b[:len(b)-5]) },
		"damaged":      func(r *rig) { r.write(bytes.Replace(r.read(), []byte(`"a"`), []byte(`"b"`), 1)) },
		"a lost line":  func(r *rig) { b := r.read(); r.write(b[bytes.IndexByte(b, '\n')+1:]) },
		"another seat": func(r *rig) { r.c.Seat = 2 },
		"another list": func(r *rig) { r.c.Group.List = "x" },
		"longest":      func(r *rig) { r.c.Group.Longest -= time.Second },
		"another id":   func(r *rig) { r.c.State = r.t.TempDir() },
		"boot":         func(r *rig) { r.rewrite(func(h *head) { h.Epoch = "x" }) },
		"no boot":      func(r *rig) { r.rewrite(func(h *head) { h.Epoch = "" }) },
		"later":        func(r *rig) { r.rewrite(func(h *head) { h.Opens = r.v.clock.Now().Add(time.Hour) }) },
		"version":      func(r *rig) { r.rewrite(func(h *head) { h.Version++ }) },
		"a resumed snapshot": func(r *rig) {
			r.v.promises.head.Drift -= 2 * time.Second
			_ = r.v.promises.rewrite()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.wants("a", 0, votes.Granted)
			r.restart(func() { change(r) })
			if _, left := r.v.Abstains(); left < r.c.Group.Longest-time.Second {
				t.Errorf("it abstains for %v", left)
			}
			if got := r.ask("b", 0); got.Vote != votes.Abstains || got.Left <= 0 {
				t.Errorf("got %+v", got)
			}
			if d := r.v.resumed; d == "" {
				t.Error("it does not say why")
			}
		})
	}
}

func (r *rig) read() []byte {
	r.t.Helper()
	b, err := os.ReadFile(r.promises())
	if err != nil || len(b) == 0 {
		r.t.Fatal(err)
	}
	return b
}

func (r *rig) write(b []byte) {
	r.t.Helper()
	if err := os.WriteFile(r.promises(), b, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) rewrite(change func(*head)) {
	change(&r.v.promises.head)
	if err := r.v.promises.rewrite(); err != nil {
		r.t.Error(err)
	}
}

// While it runs, a date that is set forward counts as a start, too; one that is set back does not.
func TestDateIsSetForward(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it is not noticed elsewhere")
	}
	r := newRig(t)
	r.v.promises.head.Drift += time.Hour
	r.wants("a", 0, votes.Granted)
	r.v.promises.head.Drift -= 2 * time.Second
	r.wants("a", 0, votes.Abstains)
	r.restart(nil)
	r.wants("a", 0, votes.Abstains)
}

// A promise is on file before its answer is sent. A voter that cannot write grants nothing, says
// so, and votes again when it can.
func TestCannotWrite(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wants("a", 0, votes.Granted)
	away := r.c.Runtime + ".away"
	if err := os.Rename(r.c.Runtime, away); err != nil {
		t.Fatal(err)
	}
	_ = r.v.promises.file.Close()
	r.wants("a", 0, "")
	r.v.mu.Lock()
	d := r.v.describe()
	r.v.mu.Unlock()
	if !strings.Contains(d.Why, "cannot write") {
		t.Errorf("it says %q", d.Why)
	}
	if err := os.Rename(away, r.c.Runtime); err != nil {
		t.Fatal(err)
	}
	r.wants("a", 0, votes.Abstains)
	r.v.tried = 0 // a second has passed
	r.wants("a", 0, votes.Granted)
	r.restart(nil)
	r.wants("b", 0, votes.Bound)
}

// Only one voter has the promises of a host, and they are not on a disk.
func TestDirectories(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := New(r.c); err == nil || !strings.Contains(err.Error(), "another voter") {
		t.Errorf("a second voter: %v", err)
	}
	c := r.c
	if c.Runtime = "/var/tmp/leaderrun-test"; runtime.GOOS == "linux" && checkVolatile("/var/tmp") != nil {
		defer func() { _ = os.Remove(c.Runtime) }()
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), "tmpfs") {
			t.Errorf("on a disk: %v", err)
		}
	}
}

// A token that is not of this world, or of another group, is neither noted nor answered.
func TestAbsurdTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wants("a", today()+absurd+reserved+1_000_000, "")
	r.wants("a", 1<<64-1, "")
	strange := votes.Ask{Group: Group([]string{"x:1", "y:1", "z:1"}, ttl), Term: votes.Term{Candidate: "s", Number: 1}, Round: 1, TTL: ttl, Token: today() + 1_000_000_000}
	all := r.v.receive(wire.Packet{List: "x, y, z", Vote: votes.Message{Lock: lock, Ask: &strange}}, place{})
	if got := all[0].packet; got.Vote.Answer.Vote != votes.Foreign || !strings.Contains(got.List, "h1:1,h2:1,h3:1") {
		t.Errorf("a stranger gets %+v", got)
	}
	if got := r.ask("b", 0); got.Vote != votes.Granted || got.Token > today()+2*reserved {
		t.Errorf("got %+v", got)
	}
	r.wants("b", today()+1_000_000_000, votes.Granted) // 11 days: another host's date
}

// Two voters that claim one seat abstain, each of them, when they hear of each other.
func TestRivals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hears := func(ids ...string) {
		r.v.answer(t.Context(), &wire.Call{Group: r.c.Group, Hello: &wire.Hello{Seat: 0, ID: "one-1", Seen: [][]string{nil, ids, nil}}})
	}
	hears(r.v.id())
	hears(r.v.state.id + "-before the boot")
	r.wants("a", 0, votes.Granted)
	hears(r.v.id(), r.v.state.id+"-a copy of the host")
	r.wants("a", 0, votes.Abstains)
	r.v.doubted = r.v.clock.Now()
	hears("rival-1")
	r.wants("a", 0, votes.Abstains)
	reply := r.v.answer(t.Context(), &wire.Call{Group: r.c.Group})
	if !strings.Contains(reply.Why, "rival") || !strings.Contains(reply.Why, r.v.state.id) {
		t.Errorf("it says %q", reply.Why)
	}
	if got := fmt.Sprint(reply.Seen); got != "[[one-1] [] []]" {
		t.Errorf("it has seen %s", got)
	}
	r.v.doubted = r.v.clock.Now() // nobody has heard of the rival for a while
	r.wants("a", 0, votes.Granted)
}

// A voter tells a host that has booted again from two copies of a host, which take turns.
func TestCopies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tt := range []struct{ id, want string }{
		{"host-1", "[host-1]"}, {"host-1", "[host-1]"}, {"host-2", "[host-2]"}, {"host-1", "[host-1 host-2]"},
		{"host-2", "[host-1 host-2]"}, {"other-1", "[host-1 host-2 other-1]"},
	} {
		r.v.answer(t.Context(), &wire.Call{Group: r.c.Group, Hello: &wire.Hello{Seat: 2, ID: tt.id}})
		r.v.mu.Lock()
		got := fmt.Sprint(r.v.sees()[2])
		r.v.mu.Unlock()
		if got != tt.want {
			t.Errorf("after %s: got %s; want %s", tt.id, got, tt.want)
		}
	}
	r.wants("a", 0, votes.Granted)
}

// Locks that nobody holds are forgotten, others are not.
func TestManyLocks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wants("a", 0, votes.Granted)
	r.v.mu.Lock()
	for i := range maxLocks {
		if r.v.ballot([2]string{"", fmt.Sprint(i)}) == nil {
			t.Fatalf("no vote for lock %d", i)
		}
	}
	r.v.mu.Unlock()
	r.wants("b", 0, votes.Bound)
	if n := len(r.v.locks); n > maxLocks {
		t.Errorf("%d locks are known", n)
	}
}

// The promises of many renewals do not fill the tmpfs.
func TestFileStaysSmall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 5000 {
		r.wants("a", 0, votes.Granted)
	}
	if n := len(r.read()); n > maxSize+4096 {
		t.Errorf("the file has %d bytes", n)
	}
	r.restart(nil)
	r.wants("b", 0, votes.Bound)
}
