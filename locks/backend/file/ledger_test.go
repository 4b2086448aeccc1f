package file

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/label"
)

// A memory is a store without a disk.
type memory struct{ data []byte }

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(m.data)) {
		return 0, io.EOF
	}
	n := copy(p, m.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(m.data) {
		m.data = append(m.data, make([]byte, need-len(m.data))...)
	}
	return copy(m.data[off:], p), nil
}

func (m *memory) Sync() error { return nil }

// start is when the ledgers of these tests are made, in microseconds.
const start = 1_000_000_000

// testLedger returns a ledger with a stopped clock.
func testLedger(s store, boot string, clock int64) ledger {
	return ledger{store: s, boot: boot, now: func() time.Time { return time.UnixMicro(clock) }}
}

func mustNext(t *testing.T, g ledger) (entry, past) {
	t.Helper()
	e, p, err := g.next(label.Label{Holder: "h"})
	if err != nil {
		t.Fatal(err)
	}
	return e, p
}

func TestTokensCountUp(t *testing.T) {
	t.Parallel()
	m := &memory{}
	g := testLedger(m, "boot", start)
	for i := range uint64(3 * reserveStep) {
		if e, _ := mustNext(t, g); e.token != start+1+i {
			t.Fatalf("token %d is %d; want %d", i, e.token, start+1+i)
		}
	}
	if len(m.data) != 3*blockSize {
		t.Errorf("the file has %d bytes; want %d", len(m.data), 3*blockSize)
	}
}

func TestPast(t *testing.T) {
	t.Parallel()
	m := &memory{}
	g := testLedger(m, "boot", start)
	expect := func(g ledger, want past) entry {
		t.Helper()
		e, got := mustNext(t, g)
		if got != want {
			t.Errorf("past: got %v, want %v", got, want)
		}
		return e
	}
	expect(g, noHolder)
	e := expect(g, unreleased)
	if err := g.free(e); err != nil {
		t.Fatal(err)
	}
	e = expect(g, released)
	if err := g.free(e); err != nil {
		t.Fatal(err)
	}
	expect(testLedger(m, "another boot", start), unreleased)
	for range 2 { // after the first, the boot is unknown
		if err := g.free(expect(testLedger(m, "", start), unreleased)); err != nil {
			t.Fatal(err)
		}
	}
	m.data = sealBlock([]byte("1"))[:512] // the rest was never written
	expect(g, unreadable)
	m.data = make([]byte, 3*blockSize)
	expect(g, unreadable)
}

// TestOtherBoot: what another boot wrote may be older than what it used.
func TestOtherBoot(t *testing.T) {
	t.Parallel()
	m := &memory{}
	e, _ := mustNext(t, testLedger(m, "one", start))
	for _, boot := range []string{"two", "", ""} {
		next, _ := mustNext(t, testLedger(m, boot, 1))
		if next.token <= e.reserved {
			t.Errorf("boot %q: token %d, while %d was reserved", boot, next.token, e.reserved)
		}
		e = next
	}
	// Each ledger without a boot id had to reserve, so it took only one token.
	if got := e.reserved - e.token; got != 0 {
		t.Errorf("without a boot id, %d tokens are reserved and not used", got)
	}
}

func TestCounterEnds(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{maxToken - reserveStep + 1, maxToken, math.MaxUint64} {
		for i := range entryBlock {
			m := &memory{data: make([]byte, 3*blockSize)}
			g := testLedger(m, "boot", start)
			if err := g.write(i, strconv.AppendUint(nil, n, 10)); err != nil {
				t.Fatal(err)
			}
			e, _, err := g.next(label.Label{})
			if !errors.Is(err, locks.ErrUnavailable) || locks.Hint(err) == "" {
				t.Errorf("with %d in use: got %+v, %v", n, e, err)
			}
		}
	}
	m := &memory{data: make([]byte, 3*blockSize)}
	g := testLedger(m, "boot", start)
	if err := g.write(0, strconv.AppendUint(nil, maxToken-reserveStep, 10)); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(reserveStep) {
		if e, _ := mustNext(t, g); e.token != maxToken-reserveStep+1+i {
			t.Fatalf("token %d of the last range is %d", i, e.token)
		}
	}
	if e, _, err := g.next(label.Label{}); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("after the greatest token: got %+v, %v", e, err)
	}
}

// TestClockIsNotOvertaken: a lock loses its first range, and its file is deleted at once,
// so that the counter starts over from the clock.
func TestClockIsNotOvertaken(t *testing.T) {
	t.Parallel()
	for range 20 {
		m := &memory{}
		g := ledger{store: m, boot: "boot", now: time.Now}
		mustNext(t, g)
		m.data[entryBlock*blockSize] ^= 1
		e, _ := mustNext(t, g)
		if next, _ := mustNext(t, ledger{store: &memory{}, boot: "boot", now: time.Now}); next.token <= e.token {
			t.Fatalf("token %d after %d", next.token, e.token)
		}
	}
}

// TestDamage cuts the file short at every length, and interrupts the writing of each
// block at every byte. With one damaged block the token must rise even if the clock was
// set back; with more, it rises by the clock.
func TestDamage(t *testing.T) {
	t.Parallel()
	m := &memory{}
	g := testLedger(m, "boot", start)
	mustNext(t, g)
	before := slices.Clone(m.data)
	for range reserveStep { // into the second range
		mustNext(t, g)
	}
	e, _ := mustNext(t, g)
	after := m.data
	check := func(data []byte, clock int64, what string, i int) {
		t.Helper()
		for _, boot := range []string{"boot", "another", ""} {
			if next, _ := mustNext(t, testLedger(&memory{data: slices.Clone(data)}, boot, clock)); next.token <= e.token {
				t.Fatalf("%s %d, boot %q: token %d after %d", what, i, boot, next.token, e.token)
			}
		}
	}
	for i := range len(after) {
		block := i / blockSize * blockSize
		if inBlank := i-block > 300; inBlank && i%97 != 0 {
			continue // blanks may differ
		}
		check(after[:i], start+2*reserveStep, "cut to", i)
		torn := slices.Clone(after)
		copy(torn[i:block+blockSize], before[i:])
		if block/blockSize == entryBlock && bytes.Equal(torn[block:], before[block:]) {
			continue // the entry is an older one as a whole: no interrupted write causes that
		}
		check(torn, 1, "torn at", i)
		torn[i] ^= 1
		check(torn, 1, "torn, with a bit turned, at", i)
	}
}
