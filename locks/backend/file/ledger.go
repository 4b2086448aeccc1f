package file

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/label"
)

// A ledger is the content of a lock file. It has three blocks:
//
//	0, 1  the reserve, twice: a number that no token in use exceeds
//	2     the latest entry: a token, the number reserved, and the holder
//
// The two copies of the reserve are made durable, one after the other, before the first
// token above the old number is used. Nobody waits for the entry to become durable: it
// counts only in the boot it was written in, in which the page cache is reliable. So
// whenever the process dies or the power fails, a copy on disk covers every token in use.
//
// An entry names the reserve it draws from only after both copies are durable. If no
// entry of this boot names a reserve, its writer may have died before the sync, or the
// sync may have failed. Then it is only a lower bound for the next reserve.
//
// Only the process that has locked the file reads and writes it, except for status.
type ledger struct {
	store store
	boot  string // this boot of the system; "" if unknown
	now   func() time.Time
}

// A store is where a ledger is kept: the lock file.
type store interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
}

const entryBlock = 2

// A past is what the ledger says about the previous holder.
type past int

const (
	unreleased past = iota // or unknown
	released
	noHolder   // there was none: the file is new
	unreadable // there is content, but no readable reserve; it may be ours: see checkOurs
)

// clean reports whether the previous holder is known to have released the lock, or there
// was none.
func (p past) clean() bool { return p == noHolder || p == released }

// next enters h as the new holder, with a token above all earlier ones.
func (g ledger) next(h label.Label) (entry, past, error) {
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
	e.holder = encodeLabel(h)
	return e, before, g.write(entryBlock, e.encode())
}

// free marks the lock as released by the holder of e.
func (g ledger) free(e entry) error {
	e.free = true
	return g.write(entryBlock, e.encode())
}

// status returns what is known about the holder. It is called without the lock, so the
// holder may not have entered itself yet.
func (g ledger) status() (s locks.Status, entered bool) {
	e, err := g.last()
	if err != nil || e.free || e.boot != g.boot {
		return locks.Status{Held: true}, false
	}
	return e.status(), e.token > 0
}

// last returns the latest entry, or the zero entry if it is unreadable.
func (g ledger) last() (entry, error) {
	text, err := g.read(entryBlock)
	if err != nil {
		return entry{}, err
	}
	return decodeEntry(text), nil
}

// checkOurs returns an error if the file has content that cannot be ours, and nothing that is. A
// power failure leaves a block of zeros at worst.
func (g ledger) checkOurs(path string) error {
	b := make([]byte, blockSize)
	n, err := g.store.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if b = b[:n]; isSealed(b) || len(bytes.Trim(b, "\x00")) == 0 {
		return nil
	}
	for i := 1; i <= entryBlock; i++ {
		if text, err := g.read(i); text != "" || err != nil {
			return err
		}
	}
	return foreign(path, nil)
}

// read returns the text in a block, or "" if the block is damaged.
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
