package file

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/tester"

	"github.com/leaderrun/leaderrun/locks/kit/label"
)

// A disk is a store that loses what was not synced when its power fails. Of each sector
// written since, any version may remain, or the beginning of one and the end of another.
// A sync can fail, and the writer can die, at any operation.
type disk struct {
	memory  // what reads see: the page cache
	rng     *rand.Rand
	sector  int              // bytes
	durable []byte           // the content of the disk
	pending map[int][][]byte // versions of a sector, the oldest of which is on the disk

	dead bool
	fuse int  // operations until the writer dies; negative if it does not
	sick bool // syncs may fail
}

func newDisk(seed uint64, sector int) *disk {
	return &disk{
		rng:     rand.New(rand.NewPCG(seed, 0)),
		sector:  sector,
		pending: map[int][][]byte{},
		fuse:    -1,
	}
}

var errDied = errors.New("died")

// step counts an operation and reports whether the writer dies during it.
func (d *disk) step() bool {
	d.dead = d.dead || d.fuse == 0
	d.fuse--
	return d.dead
}

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	if d.dead {
		return 0, errDied
	}
	if d.step() {
		d.put(p[:d.rng.IntN(len(p)+1)], off)
		return 0, errDied
	}
	d.put(p, off)
	return len(p), nil
}

func (d *disk) put(p []byte, off int64) {
	if grow := 3*blockSize - len(d.data); grow > 0 {
		d.data = append(d.data, make([]byte, grow)...) // for a file that was cut short, see TestDamage
		d.durable = slices.Clone(d.data)
	}
	for s := int(off) / d.sector; s*d.sector < int(off)+len(p); s++ {
		if d.pending[s] == nil {
			d.pending[s] = [][]byte{slices.Clone(d.at(d.durable, s))}
		}
	}
	copy(d.data[off:], p)
	for s := int(off) / d.sector; s*d.sector < int(off)+len(p); s++ {
		d.pending[s] = append(d.pending[s], slices.Clone(d.at(d.data, s)))
	}
}

func (d *disk) at(image []byte, sector int) []byte {
	return image[sector*d.sector : (sector+1)*d.sector]
}

// Sync may fail as on Linux: the writes are given up, but reads still see them, and the
// next sync succeeds.
func (d *disk) Sync() error {
	if d.dead {
		return errDied
	}
	if d.step() {
		return errDied // some of the data may be on the disk: see cut
	}
	if d.sick && d.rng.IntN(4) == 0 {
		d.settle()
		return syscall.EIO
	}
	for s := range d.pending {
		copy(d.at(d.durable, s), d.at(d.data, s))
	}
	clear(d.pending)
	return nil
}

// cut makes the power fail.
func (d *disk) cut() {
	d.settle()
	d.data = slices.Clone(d.durable)
}

// settle decides what remains of the data that was not synced.
func (d *disk) settle() {
	for s, versions := range d.pending {
		begin, end := versions[d.rng.IntN(len(versions))], versions[d.rng.IntN(len(versions))]
		cut := d.rng.IntN(2 * 60) // usually within the text
		copy(d.at(d.durable, s), end)
		copy(d.at(d.durable, s), begin[:cut])
	}
	clear(d.pending)
}

// TestPowerCut makes writers die, syncs fail, power fail and blocks go bad at every
// operation. The clock is set back at the start, so that a counter that relies on it is
// detected.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, sector := range []int{512, blockSize} {
		for seed := range uint64(often(20, 100)) {
			d := newDisk(seed, sector)
			d.sick = seed%2 == 0
			if err := ordeal(d); err != nil {
				t.Fatalf("go test -run 'TestPowerCut$' ./locks/backend/file\nsectors of %d bytes, seed %d: %v", sector, seed, err)
			}
		}
	}
}

func ordeal(d *disk) error {
	boot, clock, last := 0, int64(start), uint64(0)
	for range 100 {
		d.dead, d.fuse = false, -1
		if d.rng.IntN(2) == 0 {
			d.fuse = d.rng.IntN(8)
		}
		g := testLedger(d, fmt.Sprint(boot), clock)
		var err error
		for i := d.rng.IntN(4); i >= 0 && err == nil; i-- {
			var e entry
			if e, _, err = g.next(label.Label{Holder: "h"}); err != nil {
				break // the writer died, or had to give up
			}
			if e.token <= last {
				return fmt.Errorf("token %d after %d", e.token, last)
			}
			last, clock = e.token, 1
			last = max(last, g.use(e, d.rng))
		}
		switch d.rng.IntN(4) {
		case 0:
			d.cut()
			boot++
		case 1:
			if err == nil {
				d.rot()
			}
		}
	}
	return nil
}

// use releases the lock, or does not, or makes many others acquire it until all reserved
// tokens are used. It returns the last token used.
func (g ledger) use(e entry, rng *rand.Rand) uint64 {
	switch rng.IntN(3) {
	case 0:
		_ = g.free(e)
	case 1:
		all := e
		all.token = e.reserved
		if g.write(entryBlock, all.encode()) == nil {
			return all.token
		}
	}
	return e.token
}

// TestSingleCopy begins with one copy on the disk, while the other copy and the entry are
// damaged. In a variant, that is the state of the disk, and reads see a greater number in
// the other copy, whose sync has failed. Then power fails during the next acquisition, at
// each operation.
func TestSingleCopy(t *testing.T) {
	t.Parallel()
	const used = start + reserveStep
	for seed := range uint64(often(80, 400)) {
		for fuse := range 8 {
			d := newDisk(seed, blockSize)
			g := testLedger(d, "boot", start)
			mustNext(t, g)
			damaged := int(seed&1) * blockSize
			copy(d.data[entryBlock*blockSize:], "x")
			copy(d.data[damaged:], "x")
			copy(d.durable, d.data)
			clear(d.pending)
			if seed&2 != 0 {
				copy(d.data[damaged:], sealBlock(strconv.AppendUint(nil, used+reserveStep, 10)))
			}
			g.now = func() time.Time { return time.UnixMicro(1) }
			d.fuse = fuse
			_, _, _ = g.next(label.Label{})
			d.cut()
			d.dead, d.fuse = false, -1
			g.boot = "another"
			if e, _ := mustNext(t, g); e.token <= used {
				t.Fatalf("seed %d, power failure at operation %d: token %d after %d", seed, fuse, e.token, used)
			}
		}
	}
}

// rot damages one copy of the reserve, on the disk and in the cache, if both are intact.
// It follows an acquisition, so both must be durable.
func (d *disk) rot() {
	copies, _, err := testLedger(d, "", 0).copies()
	if err != nil || copies[0] == 0 || copies[1] == 0 {
		return
	}
	i := d.rng.IntN(entryBlock) * blockSize
	d.data[i] ^= 1
	d.durable[i] ^= 1
}

// often returns how often to repeat a test, in normal and in long runs.
func often(short, long int) int {
	if tester.Long() {
		return long
	}
	return short
}
