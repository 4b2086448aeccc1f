package voter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Promises are kept in the directory for what is gone after a reboot (RUNTIME_DIRECTORY), so that
// a voter that is started again continues them, and need not abstain. The file "promises" has one
// entry a line, with a checksum before it: first the head, then promises and further heads; later
// ones replace earlier ones. Each is written before the answer that makes the promise is sent. If
// anything in the file is not as we would have written it in this boot, for this seat and group,
// nothing of it is continued.
type promises struct {
	dir  string
	lock *os.File // locked while we live; never renamed
	file *os.File
	size int
	head head
	all  map[[2]string]votes.Promise
}

// A head says whose promises follow, and on which clock.
type head struct {
	Version int           `json:"version"`
	Epoch   string        `json:"epoch"` // of the clock
	Seat    string        `json:"seat"`
	Group   votes.Group   `json:"group"`
	ID      string        `json:"id"`  // of the host's state
	Run     string        `json:"run"` // drawn for each voter that does not continue another one
	Opens   clock.Instant `json:"opens"`
	Drift   time.Duration `json:"drift_ns"` // see drift
}

// An entry is one line.
type entry struct {
	Head    *head          `json:"head,omitempty"`
	Lock    [2]string      `json:"lock,omitzero"` // space and name
	Promise *votes.Promise `json:"promise,omitempty"`
	Drift   time.Duration  `json:"drift_ns,omitempty"`
}

// version is that of the format.
const version = 1

// maxSize is how large the file grows before it is written anew.
const maxSize = 1 << 20

// errRuns is why there is no voter.
var errRuns = errors.New("another voter of this host uses it")

// openPromises locks the directory, which is made if it is absent. Nothing is written yet.
func openPromises(dir string) (*promises, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkVolatile(dir); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(lock); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return &promises{dir: dir, lock: lock, all: map[[2]string]votes.Promise{}}, nil
}

func (p *promises) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
	_ = p.lock.Close()
}

// begin continues the promises that are kept, if they are of a voter as h describes it, and
// returns "". Otherwise it begins with none, h.Opens counts, and it returns why.
func (p *promises) begin(h head) (why string, err error) {
	switch err := p.read(h); {
	case errors.Is(err, fs.ErrNotExist):
		why = "there are no promises of an earlier one"
	case err != nil:
		why = err.Error()
	case h.Epoch == "":
		why = "the boot cannot be told from others"
	}
	if why != "" {
		p.head, p.all = h, map[[2]string]votes.Promise{}
	}
	p.head.Drift = h.Drift
	return why, p.rewrite()
}

// read reads the file. An error says why it cannot be continued.
func (p *promises) read(want head) error {
	b, err := os.ReadFile(filepath.Join(p.dir, "promises"))
	if err != nil {
		return err
	}
	for line := range bytes.Lines(b) {
		var e entry
		if err := parse(line, &e); err != nil {
			return fmt.Errorf("the kept promises cannot be read: %w", err)
		}
		switch {
		case e.Head != nil:
			p.head = *e.Head
		case e.Promise != nil:
			p.all[e.Lock], p.head.Drift = *e.Promise, e.Drift
		}
	}
	got := p.head
	if jump := want.Drift - got.Drift; jump > maxJump {
		return fmt.Errorf("the date was set forward by %v, as when a snapshot is resumed", jump)
	}
	late := got.Opens > want.Opens
	for _, promise := range p.all {
		late = late || promise.Until > want.Opens
	}
	got.Run, got.Opens, got.Drift = want.Run, want.Opens, want.Drift
	if got != want || late {
		return errors.New("the kept promises are of another boot, seat, group, state or version")
	}
	return nil
}

func parse(line []byte, e *entry) error {
	sum, text, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	if !ok || string(sum) != checksum(text) {
		return errors.New("a line is damaged")
	}
	return json.Unmarshal(text, e)
}

func checksum(text []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) }

func (e entry) line() []byte {
	text, _ := json.Marshal(e) // it cannot fail
	return fmt.Appendf(nil, "%s %s\n", checksum(text), text)
}

// keep keeps a promise. If it cannot, the promise must not be given.
func (p *promises) keep(lock [2]string, promise votes.Promise, drift time.Duration) error {
	p.all[lock], p.head.Drift = promise, drift
	return p.append(entry{Lock: lock, Promise: &promise, Drift: drift})
}

// open keeps when the voter may vote at all.
func (p *promises) open(at clock.Instant, drift time.Duration) error {
	p.head.Opens, p.head.Drift = at, drift
	return p.append(entry{Head: &p.head})
}

// append writes a line. After an error the file may end with half of one, so it is written anew.
func (p *promises) append(e entry) error {
	if p.file == nil || p.size > maxSize {
		return p.rewrite()
	}
	b := e.line()
	p.size += len(b)
	if _, err := p.file.Write(b); err != nil {
		_ = p.file.Close()
		p.file = nil
		return p.rewrite()
	}
	return nil
}

// forget drops a promise that binds nobody.
func (p *promises) forget(lock [2]string) { delete(p.all, lock) }

// rewrite replaces the file by one with all that is kept.
func (p *promises) rewrite() error {
	b := entry{Head: &p.head}.line()
	for lock, promise := range p.all {
		b = append(b, entry{Lock: lock, Promise: &promise, Drift: p.head.Drift}.line()...)
	}
	f, err := os.CreateTemp(p.dir, ".promises-")
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = os.Rename(f.Name(), filepath.Join(p.dir, "promises"))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		_ = f.Close()
		return err
	}
	if p.file != nil {
		_ = p.file.Close()
	}
	p.file, p.size = f, 0 // from here on it may grow by maxSize
	return nil
}
