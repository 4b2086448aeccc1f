package file

import (
	"errors"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

const (
	// reserveStep is how many tokens are reserved at a time.
	reserveStep = 1000
	// maxToken is the greatest token: a system that checks tokens may keep them in a
	// signed integer.
	maxToken = math.MaxInt64
)

// A reserve is a range of unused tokens.
type reserve struct {
	from   uint64 // the last token that may have been used
	to     uint64 // the last reserved token
	seeded past   // noHolder or unreadable, if from comes from the clock
}

// reserve makes a new range durable: above all that can be read of the old one or, if
// neither copy is readable, above the clock.
func (g ledger) reserve(last entry) (reserve, error) {
	copies, seeded, err := g.copies()
	if err != nil {
		return reserve{}, err
	}
	r := reserve{from: max(copies[0], copies[1], last.reserved, last.token), seeded: seeded}
	clock := g.clock()
	if seeded != unreleased {
		r.from = max(r.from, clock)
	} else {
		awaitClock(r.from, clock)
	}
	step := uint64(reserveStep)
	if g.boot == "" {
		step = 1 // the rest of the range would look as if it had been used
	}
	if r.from > maxToken-step {
		return reserve{}, fault(locks.ErrUnavailable,
			"once no job of this lock runs, delete its file: the tokens then start over from the clock",
			"the token counter in the lock file is at its end")
	}
	r.to = r.from + step
	return r, g.commit(copies, r.to)
}

// clock returns the wall clock as a token.
func (g ledger) clock() uint64 { return uint64(max(g.now().UnixMicro(), 1)) }

// awaitClock waits until the clock has passed a token, if that is ahead by at most one
// step, as when a lock that is a millisecond old skips the rest of its first range. A
// counter must not overtake the clock: see the package's documentation.
func awaitClock(token, clock uint64) {
	if clock < token && token <= clock+reserveStep {
		time.Sleep(time.Duration(token-clock) * time.Microsecond)
	}
}

// copies reads both copies of the reserve. A damaged copy is 0. If both are damaged,
// seeded says why.
func (g ledger) copies() (copies [2]uint64, seeded past, err error) {
	for i := range copies {
		text, err := g.read(i)
		if err != nil {
			return copies, 0, err
		}
		copies[i], _ = strconv.ParseUint(text, 10, 63) // 0 if damaged
	}
	if copies != [2]uint64{} {
		return copies, unreleased, nil
	}
	n, err := g.store.ReadAt(make([]byte, 1), 0)
	if n == 0 && errors.Is(err, io.EOF) {
		return copies, noHolder, nil
	}
	return copies, unreadable, nil
}

// commit sets the copies to the new number, one after the other, the lesser first, so
// that an intact copy is always on disk. Before that it writes their present content
// again, because the sync of the previous writer may have failed, or never happened.
func (g ledger) commit(copies [2]uint64, to uint64) error {
	lesser, greater := 0, 1
	if copies[1] < copies[0] {
		lesser, greater = 1, 0
	}
	if copies != [2]uint64{} {
		if err := g.sync(copies, lesser, greater); err != nil {
			return err
		}
	}
	for _, i := range []int{lesser, greater} {
		copies[i] = to
		if err := g.sync(copies, i); err != nil {
			return err
		}
	}
	return nil
}

// sync writes those of the copies that are not damaged, and waits until they are on disk.
func (g ledger) sync(copies [2]uint64, which ...int) error {
	for _, i := range which {
		if copies[i] == 0 {
			continue
		}
		if err := g.write(i, strconv.AppendUint(nil, copies[i], 10)); err != nil {
			return err
		}
	}
	return g.store.Sync()
}
