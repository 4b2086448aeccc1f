package gossip

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestTally: the next voter of a seat starts with a token that is no less than any that one
// before it has noted, although the date is earlier.
func TestTally(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	address := netip.MustParseAddrPort("[::1]:7946")
	last := today() + 1e9
	for range 3 {
		tally, floor, err := openTally(dir, address)
		if err != nil {
			t.Fatal(err)
		}
		if floor < last && floor > today()+1e6 || tally.saved > 0 && floor < last {
			t.Errorf("got floor %d; want at least %d", floor, last)
		}
		s := opened()
		s.tally = tally
		for range reserved + 2 { // the file must be written again
			last++
			asks(s, "a", "", "x", last)
		}
	}
	_, floor, err := openTally(dir, address)
	if err != nil || floor < last || floor > last+reserved {
		t.Errorf("got floor %d, %v; want %d or a little more", floor, err, last)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("got files %v, %v", files, err)
	}
}

// TestNoTally: without a file that can be read or written, a voter votes nevertheless.
func TestNoTally(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address := netip.MustParseAddrPort("127.0.0.1:7946")
	if err := os.WriteFile(filepath.Join(dir, "127.0.0.1_7946"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, floor, err := openTally(dir, address); err == nil || floor < today()-uint64(time.Hour.Milliseconds()) {
		t.Errorf("got floor %d, %v", floor, err)
	}
	s := opened()
	s.tally = &tally{path: filepath.Join(dir, "none", "x")}
	if a, _ := asks(s, "a", "", "x", 9); a.Token != 9 || !s.unsaved {
		t.Errorf("got %+v", a)
	}
}

// TestTokenOutlives: a lock's tokens rise when all voters start again.
func TestTokenOutlives(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("LEADERRUN_GOSSIP_DIR", dir)
	seat := freeSeat(t)
	file := filepath.Join(dir, strings.ReplaceAll(seat, ":", "_"))
	future := today() + 1e9
	if err := os.WriteFile(file, []byte(strconv.FormatUint(future, 10)), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l := handle(t, "gossip://"+seat+"?expect=1&longest=1s")
		g, err := l.Acquire(drive.Context(t), false)
		if err != nil || g.Token <= future {
			t.Errorf("got token %d, %v; want more than %d", g.Token, err, future)
		}
		future = g.Token
		if err := l.Release(drive.Context(t)); err != nil && !errors.Is(err, locks.ErrLost) {
			t.Error(err)
		}
		_ = l.Close()
	}
}
