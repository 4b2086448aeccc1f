package rows

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// row returns a row of texts, of which "NULL" is NULL.
func row(texts ...string) (values [][]byte) {
	for _, text := range texts {
		if text == "NULL" {
			values = append(values, nil)
		} else {
			values = append(values, []byte(text))
		}
	}
	return values
}

// good is what Cell makes of a row of "9", "4", "s", "1", "r", "2000000", "3000000".
func good() caslease.Cell {
	return caslease.Cell{Version: "9", First: 4, Floor: 9, State: "s", Record: []byte("r"), Updated: time.Unix(2, 0), Date: time.Unix(3, 0), Next: 3000000}
}

// TestCell: a cell is what its row says, and of a row that leaderrun did not write only what can
// be believed.
func TestCell(t *testing.T) {
	t.Parallel()
	most := strconv.Itoa(1<<62 - 1)
	for name, tt := range map[string]struct {
		row  [][]byte
		want func(*caslease.Cell)
	}{
		"all":         {row("9", "4", "s", "1", "r", "2000000", "3000000"), func(*caslease.Cell) {}},
		"one more":    {row("9", "4", "s", "1", "r", "2000000", "3000000", "ignored"), func(*caslease.Cell) {}},
		"no record":   {row("9", "4", "s", "1", "NULL", "2000000", "3000000"), func(c *caslease.Cell) { c.Record = nil }},
		"no time":     {row("9", "4", "s", "1", "r", "NULL", "3000000"), func(c *caslease.Cell) { c.Updated = time.Time{} }},
		"no row":      {row("NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "3000000"), func(c *caslease.Cell) { *c = caslease.Cell{Date: c.Date, Next: c.Next} }},
		"long":        {row("9", "4", "s", strconv.Itoa(caslease.MaxRead), "r", "2000000", "3000000"), func(*caslease.Cell) {}},
		"too long":    {row("9", "4", "s", strconv.Itoa(caslease.MaxRead+1), "r", "2000000", "3000000"), func(c *caslease.Cell) { c.State, c.Foreign = "", "has a state of" }},
		"bad record":  {row("9", "4", "s", "1", "\xff", "2000000", "3000000"), func(c *caslease.Cell) { c.Record, c.BadRecord = []byte("\xff"), true }},
		"created now": {row("9", "9", "s", "1", "r", "2000000", "3000000"), func(c *caslease.Cell) { c.First = 9 }},
		"negative":    {row("9", "-4", "s", "1", "r", "2000000", "3000000"), func(c *caslease.Cell) { c.First = 0 }},
		"created later": {row("9", "10", "s", "1", "r", "2000000", "3000000"), func(c *caslease.Cell) {
			c.First, c.Floor, c.Foreign = 0, 0, "has a version"
		}},
		"last version": {row(most, "4", "s", "1", "r", "2000000", "3000000"), func(c *caslease.Cell) { c.Version, c.Floor = most, 1<<62-1 }},
		"too great a version": {row(strconv.Itoa(1<<62), "4", "s", "1", "r", "2000000", "3000000"), func(c *caslease.Cell) {
			c.Version, c.First, c.Floor, c.Foreign = strconv.Itoa(1<<62), 0, 0, "has a version"
		}},
	} {
		want := good()
		tt.want(&want)
		got, err := Cell(tt.row)
		if want.Foreign != "" && strings.HasPrefix(got.Foreign, want.Foreign) {
			want.Foreign = got.Foreign
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v\nwant %+v", name, got, err, want)
		}
	}
	if _, err := Cell(row("9", "x", "s", "y", "r", "2000000", "3000000")); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("no number: got %v, want the first error", err)
	}
}

// TestPage: a page has the locks among the rows, and only a full one is followed by another.
func TestPage(t *testing.T) {
	t.Parallel()
	named := func(name string) [][]byte {
		return append(row("9", "4", "s", "1", "r", "2000000", "3000000"), []byte(name))
	}
	page, next, err := Page([][][]byte{named("a"), named("../x"), named("b")})
	want := []caslease.ListedCell{{Name: "a", Cell: good()}, {Name: "b", Cell: good()}}
	if err != nil || next != "" || !reflect.DeepEqual(page, want) {
		t.Errorf("got %+v, %q, %v\nwant %+v", page, next, err, want)
	}
	if _, _, err := Page([][][]byte{append(row("x", "x", "s", "1", "r", "1", "1"), []byte("a"))}); err == nil {
		t.Error("a row without a version is accepted")
	}
	var full [][][]byte
	for n := range locks.MaxList {
		full = append(full, named(fmt.Sprintf("%06d", n)))
	}
	page, next, err = Page(full)
	if last := fmt.Sprintf("%06d", locks.MaxList-1); err != nil || len(page) != locks.MaxList || next != last {
		t.Errorf("got %d locks, %q, %v; want %d, %q", len(page), next, err, locks.MaxList, last)
	}
	for length, want := range map[int]bool{locks.MaxCursor: true, locks.MaxCursor + 1: false} {
		full[locks.MaxList-1] = named(strings.Repeat("x", length))
		if _, next, err = Page(full); err != nil || (len(next) == length) != want {
			t.Errorf("last name of %d bytes: the cursor has %d, %v", length, len(next), err)
		}
	}
}

func TestFollows(t *testing.T) {
	t.Parallel()
	for versions, want := range map[[2]string]bool{
		{"", "1"}: true, {"", "0"}: false, {"9", "10"}: true, {"10", "10"}: false, {"10", "9"}: false, {"9", ""}: false, {"9", "x"}: false, {"x", "10"}: false, {"9", "9" + strconv.Itoa(1<<62)}: false,
	} {
		if got := Follows(versions[0], versions[1]); got != want {
			t.Errorf("Follows(%q) = %v", versions, got)
		}
	}
}

func TestMinAge(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]string{0: "0", 1: "1", time.Microsecond: "1", time.Microsecond + 1: "2", time.Second: "1000000"} {
		if got := MinAge(caslease.Value{MinAge: age}); got != want {
			t.Errorf("%v: got %s, want %s", age, got, want)
		}
	}
}
