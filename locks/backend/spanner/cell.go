package spanner

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// cell returns the cell of a row, whose columns are those of columns. Anybody who may write
// to the table can have put anything there, but no time in the future: the service refuses
// one in a column for commit timestamps.
func cell(row *structpb.ListValue) (caslease.Cell, error) {
	v := row.GetValues()
	if len(v) != 6 {
		return caslease.Cell{}, errors.New("the answer lacks columns of the row")
	}
	var times [3]time.Time
	for i, of := range []*structpb.Value{v[1], v[2], v[5]} {
		t, err := time.Parse(time.RFC3339Nano, of.GetStringValue())
		if err != nil {
			return caslease.Cell{}, fmt.Errorf("invalid answer of the service: %w", err)
		}
		times[i] = t
	}
	c := caslease.Cell{
		Version: version(times[1]), State: v[3].GetStringValue(), First: micros(times[0]), Floor: micros(times[1]),
		Updated: times[1], Date: times[2],
	}
	if len(c.State) > caslease.MaxRead {
		c.State, c.Foreign = "", "has a state that is too long"
	}
	if c.First == 0 || c.First > c.Floor {
		c.First, c.Floor, c.Foreign = 0, 0, "has times that are not commit timestamps"
	}
	if text, ok := v[4].GetKind().(*structpb.Value_StringValue); ok {
		record, err := base64.StdEncoding.DecodeString(text.StringValue)
		c.Record, c.BadRecord = record, err != nil || locks.CheckText(record) != nil
	}
	return c, nil
}

// version returns the version of a row that was last changed at a time.
func version(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// micros returns a time in microseconds since 1970, which is the resolution of commit
// timestamps, or 0 for a time before.
func micros(t time.Time) uint64 { return uint64(max(t.UnixMicro(), 0)) }
