package voter

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
)

// A state is what a voter keeps for ever, in STATE_DIRECTORY: its id, a number than which no token
// that it has noted is greater, and records. What is written is on the disk before it returns.
type state struct {
	dir   string
	id    string
	floor uint64 // no token that was noted is greater

	disk sync.Mutex // held while records are written, which takes time

	mu       sync.Mutex
	records  map[[2]string]*wire.Record
	complete bool // no record is missing that a majority has: see gather
}

// A kept record is a file.
type kept struct {
	Space  string       `json:"space"`
	Name   string       `json:"name"`
	Record *wire.Record `json:"record"`
}

// maxLocks is how many locks a voter knows, and how many records it keeps.
const maxLocks = 4096

// reserved is how far the floor is ahead of the tokens, so that it is seldom written: a minute of
// milliseconds.
const reserved = 60 * 1000

// openState opens the directory, which is made if it is absent.
func openState(dir string) (*state, error) {
	s := &state{dir: dir, records: map[[2]string]*wire.Record{}}
	if err := os.MkdirAll(s.recordDir(), 0o700); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(s.path("id"))
	s.id = strings.TrimSpace(string(b))
	if errors.Is(err, fs.ErrNotExist) || err == nil && (s.id == "" || len(s.id) > votes.MaxID) {
		s.id = rand.Text()
		err = s.write("id", []byte(s.id+"\n"))
	}
	if err != nil {
		return nil, err
	}
	if b, err = os.ReadFile(s.path("floor")); err == nil {
		s.floor, err = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := s.note(max(s.floor, today())); err != nil {
		return nil, err
	}
	_, err = os.Stat(s.path("complete"))
	s.complete = err == nil
	return s, s.load()
}

// today is a floor for tokens: the date, in milliseconds.
func today() uint64 { return uint64(max(0, time.Now().UnixMilli())) }

func (s *state) path(name string) string { return filepath.Join(s.dir, name) }
func (s *state) recordDir() string       { return s.path("records") }

// write replaces a file.
func (s *state) write(name string, b []byte) error {
	f, err := os.CreateTemp(s.dir, ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone if it was renamed
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.path(name))
	}
	if err == nil {
		err = syncDir(filepath.Dir(s.path(name)))
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// note makes the floor no less than a token.
func (s *state) note(token uint64) error {
	if token <= s.floor {
		return nil
	}
	before := s.floor
	s.floor = max(token, token+reserved) // no overflow
	err := s.rewrite()
	if err != nil {
		s.floor = before
	}
	return err
}

// rewrite writes the floor.
func (s *state) rewrite() error {
	return s.write("floor", []byte(strconv.FormatUint(s.floor, 10)+"\n"))
}

// load reads the records. If one is damaged, they are not complete.
func (s *state) load() error {
	files, err := os.ReadDir(s.recordDir())
	if err != nil {
		return err
	}
	for _, f := range files {
		var k kept
		b, err := os.ReadFile(filepath.Join(s.recordDir(), f.Name()))
		if err == nil {
			err = json.Unmarshal(b, &k)
		}
		if err != nil || k.Record == nil || s.file(k.Space, k.Name) != filepath.Join("records", f.Name()) {
			s.complete = false
			continue
		}
		s.records[[2]string{k.Space, k.Name}] = k.Record
	}
	return nil
}

func (s *state) file(space, name string) string {
	return filepath.Join("records", fmt.Sprintf("%x", sha256.Sum256([]byte(space+"\x00"+name))))
}

// record returns a lock's record, or nil.
func (s *state) record(lock [2]string) *wire.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[lock]
}

func (s *state) whole() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.complete
}

// names returns all locks that have a record.
func (s *state) names() [][2]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.records))
}

// errFull is why a record is not kept.
var errFull = errors.New("it keeps records of 4096 locks already, and all of them are held")

// keep keeps a record, unless there is a newer one. If there are too many, it drops the oldest of
// a lock that is not bound.
func (s *state) keep(lock [2]string, r *wire.Record, bound func([2]string) bool) error {
	s.disk.Lock()
	defer s.disk.Unlock()
	old := s.record(lock)
	if !r.Newer(old) {
		return nil
	}
	if old == nil && !s.room(bound) {
		return errFull
	}
	b, err := json.Marshal(kept{lock[0], lock[1], r})
	if err == nil {
		err = s.write(s.file(lock[0], lock[1]), b)
	}
	if err == nil {
		s.set(lock, r)
	}
	return err
}

func (s *state) set(lock [2]string, r *wire.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[lock] = r; r == nil {
		delete(s.records, lock)
	}
}

// drop deletes a record. The caller holds s.disk.
func (s *state) drop(lock [2]string) error {
	if s.record(lock) == nil {
		return nil
	}
	if err := os.Remove(s.path(s.file(lock[0], lock[1]))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.set(lock, nil)
	return syncDir(s.recordDir())
}

// room makes room for a record, and reports whether there is. The caller holds s.disk.
func (s *state) room(bound func([2]string) bool) bool {
	all := s.names()
	if len(all) < maxLocks {
		return true
	}
	slices.SortFunc(all, func(a, b [2]string) int { return cmp.Compare(s.record(a).Token, s.record(b).Token) })
	for _, lock := range all {
		if !bound(lock) {
			return s.drop(lock) == nil
		}
	}
	return false
}

// finish notes that no record is missing.
func (s *state) finish() error {
	err := s.write("complete", nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complete = err == nil
	return err
}
