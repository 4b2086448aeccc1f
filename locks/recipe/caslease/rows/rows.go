// Package rows has what stores in SQL share: each cell is a row of a table. This is a package
// of its own because most stores have no rows.
//
// # Liveness
//
// The servers of postgres and mysql have no leases: the row says when it was last written, and a
// lease ends if the row is not written again. Each write has the condition that the row still has
// the version that was read. A waiter takes a lock over in one of two cases:
//
//   - By the server's clock, in the statement that takes the lock over, the lease and an
//     eighth of it (at least 1 s, for a clock that is slewed) have passed since the row was
//     written, and the waiter has itself seen the row unchanged for as long as a healthy holder
//     may be silent. This counts only if the server that wrote the row is the same and was not
//     restarted since: another node, a promoted server, or the same one after a restart, may
//     have another clock.
//   - Otherwise the row has not changed for a whole lease, by the waiter's boot clock.
//
// If the server's clock is set forward while a holder cannot reach the server, two may lead at
// once: from when others have seen the holder silent for 8/15 of a short lease, at most 41 s, until
// the holder's own deadline. With --takeover strict that cannot happen.
package rows

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// maxVersion is far greater than any version that time and writes can lead to.
const maxVersion = 1 << 62

// Cell returns the cell of a row. The values are in text form, and nil is NULL:
//
//	0  version: a number that rises with each write, and is at first the time of the server's clock,
//	   in microseconds since 1970
//	1  the version of the row when it was created
//	2  state
//	3  the length of the state, which may be longer than the text of it that was read
//	4  record
//	5  when the row was written, in microseconds since 1970; NULL: no clock can tell
//	6  the time of the answer by the same clock
//
// Further values are ignored. If all but the last are NULL, there is no such row. Anybody
// who may write to the table can have put anything there.
func Cell(row [][]byte) (caslease.Cell, error) {
	var d Decoder
	c := caslease.Cell{Version: string(row[0]), State: string(row[2]), Updated: d.Time(row[5]), Date: d.Time(row[6])}
	c.First, c.Floor, c.Next = uint64(d.Number(row[1])), uint64(d.Number(row[0])), uint64(d.Number(row[6]))
	if size := d.Number(row[3]); size > caslease.MaxRead {
		c.State, c.Foreign = "", fmt.Sprintf("has a state of %d bytes", size)
	}
	if row[4] != nil {
		c.Record = row[4]
		c.BadRecord = locks.CheckText(c.Record) != nil
	}
	if c.First > c.Floor || c.Floor >= maxVersion {
		c.First, c.Floor, c.Foreign = 0, 0, "has a version that leaderrun did not write"
	}
	return c, d.Err
}

// Page returns the cells of a list, and the cursor of the next page. The rows are sorted by
// name, which is the last value of each. If there are locks.MaxList rows, there may be more.
func Page(rows [][][]byte) (page []caslease.ListedCell, next string, err error) {
	for _, row := range rows {
		c, err := Cell(row)
		if err != nil {
			return nil, "", err
		}
		name := string(row[len(row)-1])
		if len(name) <= locks.MaxCursor {
			next = name
		}
		if locks.CheckSlotName(name) == nil {
			page = append(page, caslease.ListedCell{Name: name, Cell: c})
		}
	}
	if len(rows) < locks.MaxList {
		next = ""
	}
	return page, next, nil
}

// Follows reports whether version is one of a later write than since, which is "" for a row
// that did not exist. It is for [caslease.Traits].
func Follows(since, version string) bool {
	a, err := strconv.ParseInt(cmp.Or(since, "0"), 10, 64)
	b, err2 := strconv.ParseInt(version, 10, 64)
	return err == nil && err2 == nil && b > a
}

// MinAge returns to.MinAge in microseconds, rounded up: 0 would mean that no time must have
// passed.
func MinAge(to caslease.Value) string {
	return strconv.FormatInt(int64((to.MinAge+time.Microsecond-1)/time.Microsecond), 10)
}

// A Decoder reads values in text form. A nil value is NULL. Err is the first error.
type Decoder struct{ Err error }

// Number returns a number, or 0 if it is NULL or negative.
func (d *Decoder) Number(text []byte) int64 {
	if text == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil && d.Err == nil {
		d.Err = fmt.Errorf("invalid answer of the server: %w", err)
	}
	return max(n, 0)
}

// Time returns a time in microseconds since 1970, or the zero time if it is NULL.
func (d *Decoder) Time(text []byte) time.Time {
	if text == nil {
		return time.Time{}
	}
	return time.UnixMicro(d.Number(text))
}
