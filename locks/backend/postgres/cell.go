package postgres

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// maxVersion is far greater than any version that time and writes can lead to.
const maxVersion = 1 << 62

// cell returns the cell of a row, whose columns are those of columns. Anybody who may
// write to the table can have put anything there.
func cell(row [][]byte) (caslease.Cell, error) {
	var d decoder
	c := caslease.Cell{Version: string(row[0]), Updated: d.stamp(row[5]), Date: d.stamp(row[6])}
	c.First, c.Floor = uint64(d.number(row[1])), uint64(d.number(row[0]))
	c.State = string(d.bytes(row[2]))
	if size := d.number(row[3]); size > caslease.MaxRead {
		c.State, c.Foreign = "", fmt.Sprintf("has a state of %d bytes", size)
	}
	if row[4] != nil {
		c.Record = d.bytes(row[4])
		c.BadRecord = locks.CheckText(c.Record) != nil
	}
	if c.First > c.Floor || c.Floor >= maxVersion {
		c.First, c.Floor, c.Foreign = 0, 0, "has a version that does not come from the table's counter"
	}
	if string(row[7]) == "t" {
		return caslease.Cell{}, errStandby // a pooler has switched to one
	}
	return c, d.err
}

// A decoder reads values in the server's text form. A nil value is NULL. err is the first
// error.
type decoder struct{ err error }

func (d *decoder) note(err error) {
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("invalid answer of the server: %w", err)
	}
}

// number returns a number, or 0 if it is NULL or negative.
func (d *decoder) number(text []byte) int64 {
	if text == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	d.note(err)
	return max(n, 0)
}

func (d *decoder) stamp(text []byte) time.Time {
	if text == nil {
		return time.Time{}
	}
	return time.UnixMicro(d.number(text))
}

func (d *decoder) bytes(text []byte) []byte {
	b, err := hex.AppendDecode([]byte{}, text)
	d.note(err)
	return b
}
