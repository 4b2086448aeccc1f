package gossip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/votes"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

var (
	trio = votes.Group{Seats: 3, Longest: time.Minute}
	from = netip.MustParseAddrPort("127.0.0.1:1")
)

// stopped is a clock that stands still, so that no vote ends, however slow a test is.
type stopped clock.Instant

func (s stopped) Now() clock.Instant { return clock.Instant(s) }

// opened returns a seat that votes already.
func opened() *seat {
	now := clock.Boot{}.Now()
	return newSeat("v", trio, stopped(now), now.Add(-trio.Longest), 5, "")
}

// asks lets a candidate ask for a lock.
func asks(s *seat, candidate, space, lock string, token uint64) (votes.Answer, *ballot) {
	ask := votes.Ask{Group: trio, Term: votes.Term{Candidate: candidate, Number: 1}, Round: 1, TTL: time.Second * 30, Token: token}
	return s.vote(packet{From: from, Space: space, Label: &label{Holder: candidate}}, votes.Message{Lock: lock, Ask: &ask})
}

// TestBallots: a seat has one vote for each lock.
func TestBallots(t *testing.T) {
	t.Parallel()
	s := opened()
	for i, step := range []struct {
		candidate, space, lock string
		want                   votes.Vote
	}{
		{"a", "", "x", votes.Granted}, {"b", "", "x", votes.Bound}, {"b", "s", "x", votes.Granted}, {"b", "", "s/x", votes.Granted}, {"c", "", "x", votes.Bound}, {"a", "", "x", votes.Granted},
	} {
		if a, _ := asks(s, step.candidate, step.space, step.lock, 0); a.Vote != step.want {
			t.Errorf("%d: got %q; want %q", i, a.Vote, step.want)
		}
	}
	_, b := asks(s, "c", "", "x", 0)
	if b.place("b") != 0 || b.place("c") != 1 || b.label.Holder != "a" {
		t.Errorf("got places %d and %d, and the label %+v", b.place("b"), b.place("c"), b.label)
	}
	withdraw := func(candidate string) []waiter {
		_, b := s.vote(packet{From: from}, votes.Message{Lock: "x", Withdrawal: &votes.Withdrawal{Term: votes.Term{Candidate: candidate, Number: 1}}})
		return b.freed()
	}
	if got := withdraw("c"); len(got) != 0 {
		t.Errorf("a withdrawal that frees nobody is passed on to %v", got)
	}
	if got := withdraw("a"); len(got) != 2 || got[0].candidate != "b" {
		t.Errorf("a withdrawal is passed on to %v", got)
	}
	if _, b := asks(s, "a", "", "x", 0); b != nil {
		t.Error("a delayed request for a term that is over is answered")
	}
	if a, _ := asks(s, "b", "", "x", 0); a.Vote != votes.Granted {
		t.Errorf("after that: got %q", a.Vote)
	}
}

// TestWatchers: who watches a lock, or all of a space, is told when a vote changes, and sees
// later that it has ended. A renewal changes nothing.
func TestWatchers(t *testing.T) {
	t.Parallel()
	s := opened()
	look := func(id, space, lock string) uint64 {
		f, _ := s.look(packet{From: from, Space: space, Look: &look{Lock: lock, Watch: id}})
		return f.Mark
	}
	free := look("one", "", "x")
	look("all", "", "")
	look("other", "", "y")
	look("elsewhere", "s", "")
	for i, step := range []struct {
		candidate string
		token     uint64
		changed   bool
	}{{"a", 0, true}, {"a", 7, true}, {"a", 7, false}, {"b", 0, false}} {
		if _, b := asks(s, step.candidate, "", "x", step.token); b.changed != step.changed {
			t.Errorf("%d: changed is %v", i, b.changed)
		}
	}
	var told []string
	for _, w := range s.told("", "x") {
		told = append(told, w.id)
	}
	if !slices.Equal(told, []string{"one", "all"}) {
		t.Errorf("told %v", told)
	}
	held := look("one", "", "x")
	if held == free || held != look("all", "", "") || held == look("elsewhere", "s", "") {
		t.Error("marks do not tell votes apart")
	}
	s.clock = s.clock.(stopped) + stopped(time.Minute)
	if got := look("one", "", "x"); got != free || len(s.told("", "x")) != 1 {
		t.Errorf("after the end of the vote: got %d, want %d, and told %v", got, free, s.told("", "x"))
	}
	_, b := s.vote(packet{From: from}, votes.Message{Lock: "x", Withdrawal: &votes.Withdrawal{Term: votes.Term{Candidate: "c", Number: 1}}})
	if b.changed {
		t.Error("a withdrawal that frees nobody is a change")
	}
	asks(s, "d", "", "x", 8)
	if _, b = s.vote(packet{From: from}, votes.Message{Lock: "x", Withdrawal: &votes.Withdrawal{Term: votes.Term{Candidate: "d", Number: 1}}}); !b.changed {
		t.Error("a withdrawal is no change")
	}
}

// TestManyLocks: a seat forgets no promise and no token.
func TestManyLocks(t *testing.T) {
	t.Parallel()
	s := opened()
	asks(s, "a", "", "held", 0)
	for i := range maxLocks + 10 {
		name := fmt.Sprint("lock ", i)
		asks(s, "a", "", name, uint64(100+i))
		s.vote(packet{}, votes.Message{Lock: name, Withdrawal: &votes.Withdrawal{Term: votes.Term{Candidate: "a", Number: 1}}})
	}
	if n := len(s.locks); n > maxLocks {
		t.Errorf("%d locks are kept", n)
	}
	if a, _ := asks(s, "b", "", "held", 0); a.Vote != votes.Bound {
		t.Errorf("held: got %q", a.Vote)
	}
	if a, _ := asks(s, "b", "", "lock 0", 0); a.Vote != votes.Granted || a.Token < 100 {
		t.Errorf("a lock that was forgotten: got %+v", a)
	}
	for i := range 2 * maxLocks {
		asks(s, "a", "", fmt.Sprint("held ", i), 0)
	}
	if _, b := asks(s, "b", "", "one too many", 0); b != nil || len(s.locks) > maxLocks {
		t.Errorf("got %v, with %d locks", b, len(s.locks))
	}
}

// TestRequests: only the holder for whom it is meant gets a request.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := opened()
	asks(s, "a", "", "x", 7)
	asks(s, "a", "", "x", 0) // a copy of the first round, which came late
	for token, want := range map[uint64]bool{7: true, 6: false, 8: false} {
		if _, ok := s.holder(packet{Request: &request{Lock: "x", Token: token}}); ok != want {
			t.Errorf("token %d: got %v", token, ok)
		}
	}
	l := &Lock{asked: make(chan []byte, 1), requests: map[string]uint64{}, o: locks.Options{Name: "x"}, token: 7}
	l.receive(request{Asker: "w", Seq: 1, Lock: "x", Token: 6})
	l.receive(request{Asker: "w", Seq: 2, Lock: "y", Token: 7})
	if len(l.asked) != 0 {
		t.Errorf("got %s", <-l.asked)
	}
	for _, seq := range []uint64{3, 5, 4} {
		l.receive(request{Asker: "w", Seq: seq, Lock: "x", Token: 7, Text: fmt.Sprint(seq)})
	}
	if got := string(<-l.asked); got != "5" || len(l.asked) != 0 {
		t.Errorf("got %s; want only the last one", got)
	}
}

// TestRecords: a seat keeps what the holder writes, and the newest that other seats have.
func TestRecords(t *testing.T) {
	t.Parallel()
	s, other := opened(), opened()
	lock := [2]string{"", "x"}
	write := func(candidate string, token, seq uint64, text string) bool {
		return s.write(lock, &record{votes.Term{Candidate: candidate, Number: 1}, token, seq, text})
	}
	if write("a", 7, 1, "unasked") {
		t.Error("who has no vote writes")
	}
	asks(s, "a", "", "x", 7)
	if !write("a", 7, 2, "second") || !write("a", 7, 1, "first") || write("b", 8, 1, "another") {
		t.Error("not exactly the holder writes")
	}
	other.merge(s.state())
	if got := other.record(lock); got == nil || got.Text != "second" {
		t.Errorf("got %+v; want the second", got)
	}
	s.vote(packet{}, votes.Message{Lock: "x", Withdrawal: &votes.Withdrawal{Term: votes.Term{Candidate: "a", Number: 1}}})
	if write("a", 7, 3, "after the release") {
		t.Error("who has released writes")
	}
	asks(s, "b", "", "x", 9)
	write("b", 9, 1, "next")
	s.merge(other.state())
	if got := s.record(lock); got.Text != "next" {
		t.Errorf("got %q; want the newest", got.Text)
	}
}

// TestRecordMajority: one voter is not enough to write a record.
func TestRecordMajority(t *testing.T) {
	t.Parallel()
	v := newView(trio)
	for id, kept := range map[string]bool{"1": true, "2": false, "3": false} {
		v.add(packet{Found: &found{Voter: id, Group: trio, Age: trio.Longest, Kept: kept}})
	}
	v.add(packet{Found: &found{Voter: "4", Group: trio, Age: trio.Longest - 1}})
	if acks, refusals := v.wrote(); acks != 1 || refusals != 2 {
		t.Errorf("got %d and %d; want 1 and 2", acks, refusals)
	}
}

// TestRecordOutlives: a record is there after each voter has started again, one by one.
func TestRecordOutlives(t *testing.T) {
	t.Parallel()
	seats := []string{freeSeat(t), freeSeat(t), freeSeat(t)}
	url := func(bind string) string {
		return "gossip://" + strings.Join(seats, ",") + "?expect=3&longest=5s&bind=" + bind
	}
	sits := func(seat string) *Lock {
		voter := other(t, url(seat)).(*Lock)
		go func() { _, _ = voter.Acquire(t.Context(), false) }()
		drive.Eventually(t, long, "it votes", voter.sits)
		return voter
	}
	var voters []*Lock
	for _, seat := range seats {
		voters = append(voters, sits(seat))
	}
	l := handle(t, url("127.0.0.1:0"))
	if _, err := l.Acquire(drive.Context(t), false); err != nil {
		t.Fatal(err)
	}
	if err := l.SetRecord(drive.Context(t), []byte("text")); err != nil {
		t.Fatal(err)
	}
	for i, seat := range seats {
		_ = voters[i].Close()
		again := sits(seat)
		drive.Eventually(t, long, "it has the record", func() bool { return again.node.seat.record([2]string{"", "x"}) != nil })
	}
	drive.Eventually(t, long, "it is read", func() bool {
		text, err := handle(t, url("127.0.0.1:0")).Record(drive.Context(t))
		return err == nil && string(text) == "text"
	})
}

// TestNames: a list has each lock once, whatever the pages of the voters are.
func TestNames(t *testing.T) {
	t.Parallel()
	one, two := opened(), opened()
	const n = 2*locks.MaxList + 5
	for i := range n {
		name := fmt.Sprintf("%03d", i)
		if i%3 != 0 {
			asks(one, "a", "", name, 0)
		}
		if i%3 != 1 {
			asks(two, "a", "", name, 0)
		}
	}
	var all []string
	for next, pages := "", 0; pages == 0 || next != ""; pages++ {
		if pages > n {
			t.Fatal("the list does not end")
		}
		v := newView(trio)
		for id, s := range map[string]*seat{"1": one, "2": two} {
			f := &found{Voter: id, Group: trio}
			f.Names, f.More = s.names("", next)
			v.add(packet{Found: f})
		}
		var page []string
		page, next = v.names()
		all = append(all, page...)
	}
	if len(all) != n || !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != n {
		t.Errorf("got %d names: %v", len(all), all)
	}
}

// TestLearns: a candidate that knows one seed finds the voters that are no seeds.
func TestLearns(t *testing.T) {
	t.Parallel()
	seed := freeSeat(t)
	url := func(bind string) string { return "gossip://" + seed + "?expect=3&longest=1s&bind=" + bind }
	for _, seat := range []string{seed, freeSeat(t), freeSeat(t)} {
		voter := handle(t, url(seat))
		go func() { _, _ = voter.Acquire(t.Context(), false) }()
	}
	_, err := other(t, url("127.0.0.1:0")).Acquire(drive.Context(t), false)
	if err != nil {
		t.Error(err)
	}
}

// freeSeat returns an address of this machine that nobody uses.
func freeSeat(t *testing.T) string { return fmt.Sprintf("127.0.0.1:%d", realserver.FreePort(t)) }

// patient is enough for voters to answer on a busy machine.
const patient = 10 * time.Second

func handle(t *testing.T, url string) *Lock {
	t.Helper()
	return handleFor(t, url, patient)
}

// handleFor opens a handle that waits so long for voters.
func handleFor(t *testing.T, url string, wait time.Duration) *Lock {
	t.Helper()
	o := locks.Options{Name: "x", TTL: 5 * time.Second, ConnectTimeout: wait}
	return drive.Open(t, Open, url, o).(*Lock)
}

// other opens a handle on another lock.
func other(t *testing.T, url string) locks.Lock {
	t.Helper()
	return drive.Open(t, Open, url, locks.Options{Name: "other", TTL: time.Second, ConnectTimeout: patient})
}

func (l *Lock) sits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node != nil && l.node.seat != nil
}

// TestSeat: of the runs of one machine one votes, and the next one when that has ended. It
// has just started, so it abstains. Who only looks does not vote.
func TestSeat(t *testing.T) {
	t.Parallel()
	u := "gossip://" + freeSeat(t) + "?expect=1&longest=1h"
	looks, one, two := handleFor(t, u, time.Second), handleFor(t, u, time.Second), handleFor(t, u, time.Second)
	_, _ = looks.Inspect(t.Context())
	for _, l := range []*Lock{one, two} {
		if _, err := l.Acquire(t.Context(), true); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "just started") {
			t.Errorf("got %v", err)
		}
	}
	if looks.sits() || !one.sits() || two.sits() {
		t.Errorf("who votes: %v, %v, %v", looks.sits(), one.sits(), two.sits())
	}
	_ = one.Close()
	drive.Eventually(t, long, "the next run votes", two.sits)
	if _, err := two.Acquire(t.Context(), true); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "just started") {
		t.Errorf("got %v", err)
	}
}

// TestOneSeat: a host that has several addresses votes once.
func TestOneSeat(t *testing.T) {
	t.Parallel()
	all := []netip.AddrPort{netip.MustParseAddrPort("[2001:db8::1]:1"), netip.MustParseAddrPort("192.0.2.2:1"), netip.MustParseAddrPort("192.0.2.1:1")}
	for i, local := range []func(netip.Addr) bool{
		func(netip.Addr) bool { return true },
		func(a netip.Addr) bool { return a != all[2].Addr() },
		func(netip.Addr) bool { return false },
	} {
		got := ours(all, local)
		if want := [][]netip.AddrPort{{all[2]}, {all[1]}, {}}[i]; !slices.Equal(got, want) {
			t.Errorf("%d: got %v; want %v", i, got, want)
		}
	}
}

// TestView: a holder needs a majority, some of which may be voters that do not know it.
func TestView(t *testing.T) {
	t.Parallel()
	a, b := votes.Term{Candidate: "a", Number: 1}, votes.Term{Candidate: "b", Number: 1}
	bound := func(to votes.Term) found { return found{Group: trio, Age: time.Hour, To: to, Left: time.Second} }
	free, starts := found{Group: trio, Age: time.Hour}, found{Group: trio}
	for i, test := range []struct {
		answers     []found
		held, known bool
	}{
		{[]found{free, free}, false, true},
		{[]found{bound(a), free, free}, false, true},
		{[]found{bound(a), bound(a)}, true, true},
		{[]found{bound(a), bound(b), free}, false, true},
		{[]found{bound(a), free}, true, false},
		{[]found{bound(a), free, starts}, true, false},
		{[]found{free, starts, starts}, false, false},
		{[]found{bound(a), free, {Group: votes.Group{Seats: 5, Longest: time.Minute}, To: a, Left: time.Second}}, true, false},
	} {
		v := newView(trio)
		for j, f := range test.answers {
			f.Voter = fmt.Sprint(j)
			v.add(packet{Found: &f})
		}
		if st, known := v.holder(); st.Held != test.held || known != test.known {
			t.Errorf("%d: got held %v, known %v", i, st.Held, known)
		}
	}
}

// TestToldAtOnce: a voter tells who watches of a new holder, without being asked again.
func TestToldAtOnce(t *testing.T) {
	t.Parallel()
	f := newFleets()
	u := f.start(t, 3, time.Hour)
	w := drive.Open(t, f.open, u.String(), locks.Options{Name: "x", TTL: time.Minute, ConnectTimeout: patient}).(*Lock)
	told := make(chan packet, 100)
	w.hear("watch", func(p packet) { told <- p })
	if err := w.compare(drive.Context(t), look{Lock: "x", Watch: "watch"}, map[string]uint64{}, nil); err != nil {
		t.Fatal(err)
	}
	drive.Hold(t, drive.Open(t, f.open, f.twin(u).String(), locks.Options{Name: "x", TTL: time.Minute, ConnectTimeout: patient}))
	drive.Within(t, patient, told)
}

// TestRates: only a clock is reported that is certainly wrong.
func TestRates(t *testing.T) {
	t.Parallel()
	const second, ms = clock.Instant(time.Second), time.Millisecond
	for age, wrong := range map[time.Duration]bool{998 * ms: true, 999 * ms: false, 1003 * ms: false, 1004 * ms: false, 1005 * ms: true} {
		before, later := newView(trio), newView(trio)
		before.asked, later.asked = 0, second+1_000_000
		before.answers["a"] = packet{at: 1_000_000, Found: &found{Age: time.Hour}}
		later.answers["a"] = packet{at: second + 3_000_000, Found: &found{Age: time.Hour + age}}
		later.answers["b"] = packet{at: second + 3_000_000, Found: &found{}}
		if _, got := before.rates(later); len(got) > 0 != wrong {
			t.Errorf("%v in 1 to 1.003 s: %v", age, got)
		}
	}
}

// TestKeys: members with another key do not take part, and keys can be replaced.
func TestKeys(t *testing.T) {
	t.Parallel()
	const old, other = "MDEyMzQ1Njc4OWFiY2RlZg==", "YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODk="
	file := filepath.Join(t.TempDir(), "keys")
	write := func(file, keys string) {
		if err := os.WriteFile(file, []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "# keys\n"+old+"\n")
	u := "gossip://" + freeSeat(t) + "?expect=1&longest=1s&key-file=" + file
	voter := handle(t, u)
	if _, err := voter.Acquire(drive.Context(t), false); err != nil {
		t.Fatal(err)
	}
	sees := func(u string) bool {
		ctx, cancel := context.WithTimeout(drive.Context(t), time.Second)
		defer cancel()
		_, err := handle(t, u).Inspect(ctx)
		return err == nil
	}
	drive.Eventually(t, long, "the same key is enough", func() bool { return sees(u) })
	plain, _, _ := strings.Cut(u, "&key-file")
	if sees(plain) {
		t.Error("without a key: an answer")
	}
	file2 := filepath.Join(t.TempDir(), "keys")
	write(file2, other)
	if sees(plain + "&key-file=" + file2) {
		t.Error("another key: an answer")
	}
	write(file, other+"\n"+old)
	drive.Eventually(t, long, "the new key is read", func() bool { return sees(plain + "&key-file=" + file2) })
}

func TestSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("c2hvcnQ=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"gossip://h:0?expect=3":                             "has no port",
		"gossip://u@h?expect=3":                             "has no user",
		"gossip://h/a//b?expect=3":                          `part ""`,
		"gossip://h?expect=x":                               "is not a number",
		"gossip://h?expect=0":                               "invalid number of voters 0",
		"gossip://h?expect=100":                             "invalid number of voters 100",
		"gossip://h,i,j?expect=2":                           "3 hosts, and so more voters than expect=2",
		"gossip://h?expect=3&longest=x":                     "is not a duration",
		"gossip://h?expect=3&longest=25h":                   "invalid longest lease",
		"gossip://h?expect=3&longest=1.5d":                  "invalid longest lease",
		"gossip://h?longest=1s":                             "longest= is for locks with expect=",
		"gossip://h?expect=3&rank=age":                      "min= and rank= are for locks without expect=",
		"gossip://h?min=0":                                  "is not a number of members",
		"gossip://h?rank=size":                              "is neither age nor priority",
		"gossip://h?insecure=yes":                           "is neither true nor false",
		"gossip://h?bind=a:1,b:1":                           "more than one address",
		"gossip://h?bind=:0":                                "has no port between",
		"gossip://h?key-file=" + bad:                        "16, 24 or 32 bytes",
		"gossip://h?key-file=" + dir + "/none":              "no such file",
		"gossip://127.0.0.1?bind=0.0.0.0:0":                 "others could take part at 0.0.0.0",
		"gossip://192.0.2.1":                                "no host in the gossip URL is this machine",
		"gossip://127.0.0.1?bind=192.0.2.1:1":               "others could take part",
		"gossip://127.0.0.1?bind=192.0.2.1:1&insecure=true": "cannot listen",
	} {
		l, err := tryOpen(text)
		if err == nil {
			defer l.Close()
			_, err = l.Acquire(t.Context(), true)
		}
		if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want %s", text, err, want)
		}
	}
}

func tryOpen(text string) (locks.Lock, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	return Open(context.Background(), u, locks.Options{Name: "x", TTL: time.Second, ConnectTimeout: time.Second})
}

func FuzzDecode(f *testing.F) {
	ask := &votes.Message{Lock: "x", Ask: &votes.Ask{Group: trio, Term: votes.Term{Candidate: "a", Number: 1}, Round: 1, TTL: time.Second}}
	for _, p := range []packet{{From: from, Label: &label{Holder: "a"}}, {From: from, Look: &look{ID: "1", Lock: "x"}}, {From: from, Found: &found{Group: trio}}} {
		b, err := p.encode(ask)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	s := opened()
	f.Fuzz(func(t *testing.T, b []byte) {
		p, m, err := decode(b)
		if err != nil {
			return
		}
		if p.Found != nil {
			v := newView(trio)
			v.add(p)
			_, _ = v.holder()
		}
		if p.Look != nil {
			s.look(p)
		}
		if m != nil && m.Answer == nil {
			s.vote(p, *m)
		}
	})
}
