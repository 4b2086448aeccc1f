// Package trace has the records that the jobs of a fleet and their test write, and that
// oracles read: entries in a file that several processes append to, and the lifetime of
// each process that must be alone.
package trace

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// The kinds of entries.
const (
	Read    = "read"    // leaderrun read its clock, and got Wall
	Start   = "start"   // a job, a service or a hook began
	Success = "success" // a job has done its work
	Failure = "failure" // a job is about to fail
	Kill    = "kill"    // What is about to be killed, and the job is to blame
	End     = "end"     // a service or a hook is about to end by itself

	// What the fault suite adds. The last three are written when they have ended, and
	// have the moment of their beginning in Call.
	Began = "began" // a leaderrun was started
	Ran   = "ran"   // a leaderrun has ended, with Status
	Write = "write" // a job wrote to the fenced register
	// Outside is written by a job that lived at Call, and was then told that its lease had
	// ended at Expiry.
	Outside = "outside"
	Fault   = "fault" // What was done to Host, and the harm is over
	// Resigned is written when an operator was told that the term with this token is over.
	Resigned = "resigned"
	// Draining is written by a job that was asked to end, and needs until Expiry.
	Draining = "draining"
	// Stopped is written before the hosts of a cell are told to end.
	Stopped = "stopped"
	// Taken is written when an operator was told that the lock was taken away from the term with
	// this token. No lease of that term can end later than Expiry.
	Taken = "taken"
)

// An Entry is something that happened.
type Entry struct {
	Kind      string        `json:"kind"`
	At        clock.Instant `json:"at"` // by the machine's boot clock, as all moments here
	What      string        `json:"what,omitempty"`
	Host      string        `json:"host,omitempty"`
	Wall      int64         `json:"wall,omitempty"` // nanoseconds since 1970, by a host's clock
	Real      int64         `json:"real,omitempty"` // and by the machine's
	Token     uint64        `json:"token,omitempty"`
	Slot      int           `json:"slot,omitempty"`
	PID       int           `json:"pid,omitempty"`
	Guard     int           `json:"guard,omitempty"`
	Leaderrun int           `json:"leaderrun,omitempty"`
	Life      string        `json:"life,omitempty"` // the file of its Life

	Call    clock.Instant `json:"call,omitempty"`    // when it began, if it is not over at once
	Thaw    clock.Instant `json:"thaw,omitempty"`    // of a frozen machine: just before it continued
	Expiry  clock.Instant `json:"expiry,omitempty"`  // of Outside, Taken and Draining
	Status  int           `json:"status,omitempty"`  // of a leaderrun: as a shell shows it
	Left    int           `json:"left,omitempty"`    // of a leaderrun: processes of its jobs that were there after its end
	Refused bool          `json:"refused,omitempty"` // of a write: the register knew a higher token
	Highest uint64        `json:"highest,omitempty"` // and this was it
}

// Add appends an entry of now to the file that the environment names.
func Add(e Entry) error { return AddTo(os.Getenv(FileVariable), e) }

// AddTo appends an entry of now to a file. Each entry is written whole, by one call, to a
// file that is only appended to.
func AddTo(file string, e Entry) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	e.At = Now()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return err
}

// pace is how often a process records that it is alive.
const pace = 2 * time.Millisecond

// A Life is the lifetime of a process. The process records its first moment, and again
// and again its latest, so that its end is known even if it was killed.
type Life struct {
	file  *os.File
	stop  chan struct{}
	done  sync.WaitGroup
	first clock.Instant

	mu    sync.Mutex
	last  clock.Instant // the latest moment that is written down
	awake clock.Instant // since when there was no long pause between two
	until clock.Instant
}

// lapse is a pause after which a process no longer knows the end of its lease, which may
// have been renewed meanwhile.
const lapse = 100 * time.Millisecond

// Begin begins a life in a new file.
func Begin(file string) (*Life, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	now := Now()
	l := &Life{file: f, stop: make(chan struct{}), first: now, last: now, awake: now}
	if err := l.stamp(); err != nil {
		return nil, err
	}
	l.done.Go(l.live)
	return l, nil
}

func (l *Life) live() {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.stop:
			return
		}
		if err := l.stamp(); err != nil {
			fmt.Fprintln(os.Stderr, "trace:", err)
			os.Exit(1)
		}
	}
}

func (l *Life) stamp() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := Now()
	if now.Sub(l.last) > lapse {
		l.awake, l.until = now, 0
	}
	l.last = now
	_, err := l.file.WriteAt(Span{l.first, now, l.until}.bytes(), 0)
	return err
}

// Promised records the end of the lease that the process was given, and when it asked.
func (l *Life) Promised(asked, until clock.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if asked >= l.awake && asked.Sub(l.last) <= lapse {
		l.until = until
	}
}

// End ends it, at the last recorded moment.
func (l *Life) End() error {
	close(l.stop)
	l.done.Wait()
	return l.stamp()
}

// A Span is from the first to the last moment of a life.
type Span struct {
	First, Last clock.Instant
	Until       clock.Instant // the end of its lease, as it last knew; 0: it did not
}

func (s Span) bytes() (b []byte) {
	for _, i := range []clock.Instant{s.First, s.Last, s.Until} {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	return b
}

// WriteLife writes the file of a life that has ended.
func WriteLife(file string, s Span) error { return os.WriteFile(file, s.bytes(), 0o600) }

// ReadLife reads the file of a life.
func ReadLife(file string) (Span, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return Span{}, err
	}
	if len(b) != 24 {
		return Span{}, fmt.Errorf("%s has %d bytes, want 24", file, len(b))
	}
	at := func(i int) clock.Instant { return clock.Instant(binary.LittleEndian.Uint64(b[i:])) }
	return Span{at(0), at(8), at(16)}, nil
}

// ReadAll reads the entries of a file, in the order in which they were written.
func ReadAll(file string) ([]Entry, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(b)
}

// Parse reads entries.
func Parse(text []byte) ([]Entry, error) {
	var all []Entry
	for line := range bytes.Lines(text) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("entry %d, %q: %w", len(all)+1, line, err)
		}
		all = append(all, e)
	}
	return all, nil
}
