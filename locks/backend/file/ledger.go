package file

import (
	"errors"
	"io"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A ledger is the content of a lock file. It has three blocks:
//
//	0, 1  the reserve, twice: a number that no token in use exceeds
//	2     the latest entry: a token, the number reserved, and the holder
//
// The two copies of the reserve are made durable, one after the other, before
// the first token above the old number is used. For the entry nobody waits: it
// counts only in the boot it was written in, where the page cache is the truth.
// So at each write, whether the process dies there or the power fails, there is
// a copy on disk that covers every token in use.
//
// An entry names the reserve it draws from only after both copies are durable.
// A reserve that no entry of this boot names may be one whose writer died before
// the sync, or whose sync failed: it is a lower bound for what comes next, and
// otherwise not relied upon.
//
// The file is only read and written by who has locked it, but for status.
type ledger struct {
	store store
	boot  string // this boot of the system; "" if it cannot be told
	now   func() time.Time
}

// A store is what a ledger is kept in: the lock file.
type store interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
}

const entryBlock = 2

// A past is what the ledger tells about the holder before.
type past int

const (
	unreleased past = iota // or not known
	released
	unheard    // there was none: the file is new
	unreadable // there is something, but no reserve could be made out
)

// clean reports that the holder before is known to have released the lock, or
// that there was none.
func (p past) clean() bool { return p == unheard || p == released }

// next enters h as the new holder, with a token above all earlier ones.
func (g ledger) next(h holder) (entry, past, error) {
	last, err := g.last()
	if err != nil {
		return entry{}, 0, err
	}
	before := unreleased
	ours := last.boot == g.boot && g.boot != ""
	if ours && last.free {
		before = released
	}
	e := entry{token: last.token, reserved: last.reserved, boot: g.boot}
	if !ours || last.token >= last.reserved {
		r, err := g.reserve(last)
		if err != nil {
			return entry{}, 0, err
		}
		e.token, e.reserved = r.from, r.to
		if r.seeded != unreleased {
			before = r.seeded
		}
	}
	e.token++
	h.Start = locks.StartTakeover
	if before.clean() {
		h.Start = locks.StartClean
	}
	e.holder = h.encode()
	return e, before, g.write(entryBlock, e.encode())
}

// free marks the lock as released by the holder of e.
func (g ledger) free(e entry) error {
	e.free = true
	return g.write(entryBlock, e.encode())
}

// status tells what is known about the holder. It is called without the lock, so
// the holder may not have entered himself yet.
func (g ledger) status() (s locks.Status, entered bool) {
	e, err := g.last()
	if err != nil || e.free || e.boot != g.boot {
		return locks.Status{Held: true}, false
	}
	return e.status(), e.token > 0
}

// last returns the latest entry, or the zero entry if it cannot be made out.
func (g ledger) last() (entry, error) {
	text, err := g.read(entryBlock)
	if err != nil {
		return entry{}, err
	}
	return decodeEntry(text), nil
}

// read returns the text in a block, "" if it is not intact.
func (g ledger) read(i int) (string, error) {
	b := make([]byte, blockSize)
	n, err := g.store.ReadAt(b, int64(i)*blockSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return openBlock(b[:n]), nil
}

func (g ledger) write(i int, text []byte) error {
	_, err := g.store.WriteAt(sealBlock(text), int64(i)*blockSize)
	return err
}
