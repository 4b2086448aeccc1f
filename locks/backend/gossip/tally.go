package gossip

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A tally is a file with a number than which no token that a seat has noted is greater, so
// that tokens rise after a restart, whatever the date.
type tally struct {
	path  string
	saved uint64 // what is in the file
}

// reserved is how far the file is ahead of the tokens, so that it is seldom written.
const reserved = 1000

// openTally returns the tally of a seat in a directory, which is made if it is absent, and
// the greatest token that it may have noted. With an empty directory, or if the file cannot
// be read, the floor is the date.
func openTally(dir string, seat netip.AddrPort) (t *tally, floor uint64, err error) {
	if dir == "" {
		return nil, today(), nil
	}
	name := strings.NewReplacer(":", "_", "[", "", "]", "").Replace(seat.String())
	t = &tally{path: filepath.Join(dir, name)}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, today(), err
	}
	b, err := os.ReadFile(t.path)
	if errors.Is(err, fs.ErrNotExist) { // the first voter of the seat, or the file was deleted
		return t, today(), nil
	}
	if err == nil {
		t.saved, err = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	}
	return t, max(today(), t.saved), err
}

// note makes the file say that a token may have been noted. It blocks until that is
// durable.
func (t *tally) note(token uint64) error {
	if t == nil || token <= t.saved {
		return nil
	}
	ahead := max(token, token+reserved) // no overflow
	f, err := os.CreateTemp(filepath.Dir(t.path), ".tally-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone if it was renamed
	_, err = f.WriteString(strconv.FormatUint(ahead, 10) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), t.path)
	}
	if err == nil {
		t.saved = ahead
	}
	return err
}

// stateDir is the directory of a voter's file: what LEADERRUN_GOSSIP_DIR names, or, except
// for a seat on loopback, which serves one machine, where the state of programs is.
func (s *settings) stateDir(seat netip.Addr) string {
	if s.dir != "" || seat.IsLoopback() {
		return s.dir
	}
	if os.Geteuid() == 0 {
		return "/var/lib/leaderrun/gossip"
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "leaderrun", "gossip")
}
