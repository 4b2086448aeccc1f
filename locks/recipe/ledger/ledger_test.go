package ledger

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

func read(t testing.TB, text string) *Record {
	t.Helper()
	r, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encode(t testing.TB, r *Record) string {
	t.Helper()
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestKeepsWhatItDoesNotKnow: fields of later versions are still there after another field has
// changed.
func TestKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	r := read(t, `{"v":1,"zones":{"a":[1,2.50,"<&>"]},"more":null,"term":{"token":18446744073709551615,"ttl_ns":15,"clean":true},"slots":{"2":{"n":3,"token":4}}}`)
	if r.Term == nil || *r.Term != (Term{Token: math.MaxUint64, TTL: 15, Clean: true}) || r.Slots[2] != (Slot{3, 4}) {
		t.Errorf("got term %+v, slots %v", r.Term, r.Slots)
	}
	if err := r.Finish("day", Run{Window: 5, By: "a", At: 6, Token: 7}); err != nil {
		t.Fatal(err)
	}
	const want = `{"more":null,"runs":[{"spec":"day","done":[{"slot":5,"by":"a","at":6,"token":7}]}],"slots":{"2":{"n":3,"token":4}},"term":{"token":18446744073709551615,"ttl_ns":15,"clean":true},"v":1,"zones":{"a":[1,2.50,"<&>"]}}`
	if got := encode(t, r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if again := read(t, want); !reflect.DeepEqual(again, r) {
		t.Errorf("read again: got %+v, want %+v", again, r)
	}
}

// TestEmpty: a lock without a record has an empty one.
func TestEmpty(t *testing.T) {
	t.Parallel()
	r := read(t, "")
	if _, done := r.Done("day", 0); done || r.Term != nil || r.Slots != nil {
		t.Errorf("got %+v", r)
	}
	if got := encode(t, r); got != `{"v":1}` {
		t.Errorf("got %s", got)
	}
}

// TestReadRefuses: Read refuses what we would not have written.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	run := func(s string) string { return `{"v":1,"runs":[` + s + `]}` }
	for _, tt := range []struct{ text, want string }{
		{`{`, "unexpected end"},
		{`[]`, "cannot unmarshal array"},
		{`null`, "version 0"},
		{`{}`, "version 0"},
		{`{"v":2}`, "it has version 2; this leaderrun knows 1"},
		{`{"v":"1"}`, "v: "},
		{"{\"v\":1,\"x\":\"\xff\"}", "not UTF-8"},
		{`{"v":1,"x":"` + strings.Repeat("y", locks.MaxRecord) + `"}`, "more than 4096"},
		{`{"v":1,"term":{"token":-1}}`, "term: "},
		{`{"v":1,"term":{"ttl_ns":-1}}`, "ttl is negative"},
		{`{"v":1,"slots":{"65":{}}}`, "slot 65 of 0 is out of range"},
		{`{"v":1,"slots":{"-1":{}}}`, "slot -1 of 0"},
		{`{"v":1,"slots":{"1":{"n":65}}}`, "slot 1 of 65"},
		{`{"v":1,"slots":{"1":{"n":-1}}}`, "slot 1 of -1"},
		{`{"v":1,"slots":{"x":{}}}`, "slots: "},
		{run(`{"spec":""}`), "has 0 bytes"},
		{run(`{"spec":"` + strings.Repeat("x", 129) + `"}`), "has 129 bytes"},
		{run(`{"spec":"a"},{"spec":"a"}`), `the schedule "a" is there twice`},
		{run(`{"spec":"a"},{"spec":"b"},{"spec":"c"},{"spec":"d"},{"spec":"e"}`), "5 schedules, more than 4"},
		{run(`{"spec":"a","done":[{"slot":2},{"slot":1}]}`), "not in order"},
		{run(`{"spec":"a","done":[{"slot":1},{"slot":1}]}`), "not in order"},
		{run(`{"spec":"a","floor":1,"done":[{"slot":1}]}`), "not in order"},
		{run(`{"spec":"a","done":[{"slot":1,"by":"` + strings.Repeat("x", 65) + `"}]}`), "has 65 bytes"},
		{run(`{"spec":"a","done":[` + strings.Repeat(`{},`, 24) + `{}]}`), "25 runs, more than 24"},
		{run(`{"spec":"a","floor":1.5}`), "runs: "},
	} {
		_, err := Read([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "read the lock's record: ") {
			t.Errorf("%.60s: got %v, want an error with %q", tt.text, err, tt.want)
		}
	}
}

// TestReadAccepts: Read accepts the extremes of what it does not refuse, and the longest record
// can be written again.
func TestReadAccepts(t *testing.T) {
	t.Parallel()
	const head, tail = `{"v":1,"x":"`, `"}`
	for _, text := range []string{
		head + strings.Repeat("y", locks.MaxRecord-len(head+tail)) + tail,
		`{"v":1,"term":{"ttl_ns":0}}`, `{"v":1,"slots":{"0":{"n":0},"64":{"n":64}}}`,
		`{"v":1,"runs":[{"spec":"` + strings.Repeat("x", 128) + `","floor":0,"done":[{"slot":1,"by":"` + strings.Repeat("x", 64) + `"},{"slot":2}]}]}`,
		`{"v":1,"runs":[{"spec":"a"},{"spec":"b"},{"spec":"c"},{"spec":"d"}]}`,
	} {
		if got := encode(t, read(t, text)); len(text) == locks.MaxRecord && got != text {
			t.Errorf("the longest record became %q", got)
		}
	}
}

// fullest returns a record with as much in it as possible.
func fullest(t testing.TB, spec, by string) *Record {
	t.Helper()
	r := &Record{Term: &Term{Token: math.MaxUint64, TTL: math.MaxInt64}, Slots: map[int]Slot{}}
	for n := 1; n <= locks.MaxSlot; n++ {
		r.Slots[n] = Slot{locks.MaxSlot, math.MaxUint64}
	}
	for n := range int64(30) {
		for i := range 4 {
			run := Run{Window: math.MinInt64 + n, By: strings.Repeat(by, 64), At: math.MinInt64, Token: math.MaxUint64, Begins: math.MinInt64}
			if err := r.Finish(spec+string(rune('a'+i)), run); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

// TestAlwaysFits: the fullest record fits, can be read, and everything in it is still done.
func TestAlwaysFits(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"x", "\x01", "\xff", "\"", "é"} {
		for _, spec := range []string{strings.Repeat("x", 127), "x"} {
			r := fullest(t, spec, by)
			text := encode(t, r)
			if len(text) > locks.MaxRecord || !utf8.ValidString(text) {
				t.Errorf("%q: %d bytes", by, len(text))
			}
			again := read(t, text)
			for n := range int64(30) {
				for i := range 4 {
					if _, done := again.Done(spec+string(rune('a'+i)), math.MinInt64+n); !done {
						t.Errorf("%q: run %d of schedule %d is forgotten", by, n, i)
					}
				}
			}
			if _, done := again.Done(spec+"a", math.MinInt64+30); done {
				t.Errorf("%q: a run is done that was never run", by)
			}
		}
	}
}

// TestShrinkKeepsTheLast: however full the record is, a run that is far ahead does not become the
// floor, below which the windows of others would be done.
func TestShrinkKeepsTheLast(t *testing.T) {
	t.Parallel()
	r := fullest(t, strings.Repeat("x", 127), "\x01")
	var specs []string
	for _, last := range "abcd" {
		spec := strings.Repeat("x", 127) + string(last)
		specs = append(specs, spec)
		if err := r.Finish(spec, Run{Window: math.MaxInt64, By: strings.Repeat("\x01", 64)}); err != nil {
			t.Fatal(err)
		}
	}
	again := read(t, encode(t, r))
	for _, spec := range specs {
		if _, done := again.Done(spec, math.MaxInt64); !done {
			t.Error("the run ahead is forgotten")
		}
		if _, done := again.Done(spec, 0); done {
			t.Error("a window before the run ahead is done")
		}
	}
}

// TestTooMuchElse: too many unknown fields are an error, and are not cut.
func TestTooMuchElse(t *testing.T) {
	t.Parallel()
	r := read(t, `{"v":1,"x":"`+strings.Repeat("y", 3000)+`"}`)
	r.Slots = fullest(t, "x", "x").Slots
	if text, err := r.Encode(); err == nil || !strings.Contains(err.Error(), "more than 4096") {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
}

// FuzzRead: a record that is read is bounded, and does not change when it is written again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"v":1,"more":{},"runs":[{"spec":"day","floor":1,"done":[{"slot":5,"by":"a","at":6,"token":7}]}],"slots":{"2":{"n":3,"token":4}},"term":{"token":1,"ttl_ns":15,"clean":true}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read(text)
		if err != nil {
			return
		}
		if err := r.Finish("day", Run{Window: 9}); err != nil {
			t.Fatal(err)
		}
		if _, done := r.Done("day", 9); !done {
			t.Fatal("a finished run is not done")
		}
		out, err := r.Encode()
		if err != nil {
			return // too many unknown fields
		}
		if len(out) > locks.MaxRecord || !json.Valid(out) {
			t.Fatalf("%d bytes: %q", len(out), out)
		}
		if again, err := Read(out); err != nil || encode(t, again) != string(out) {
			t.Fatalf("%q is not read as it was written: %v", out, err)
		}
	})
}

// TestUnproved: of each epoch the first holder counts, and there are eight at most.
func TestUnproved(t *testing.T) {
	t.Parallel()
	u := new(Unproved)
	u.Note("", 1) // unknown
	if len(u.Seen) != 0 {
		t.Errorf("an unknown epoch is noted: %v", u.Seen)
	}
	u.Note("0", 0)
	u.Note("0", 20)
	for n := range int64(10) {
		u.Note(fmt.Sprint(n), 10+n)
	}
	r := &Record{Term: &Term{Token: 3, TTL: 40, By: "bob", Unproved: u}, Stopping: &Stopping{Token: 3, Since: 1, Kill: 2}}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Read(text)
	if err != nil || *back.Stopping != *r.Stopping || back.Term.By != "bob" || len(back.Term.Unproved.Seen) != maxSeen || back.Term.Unproved.Seen["0"] != 0 || back.Term.Unproved.Seen["7"] != 17 {
		t.Errorf("%s, %v: got %+v", text, err, back)
	}
}
