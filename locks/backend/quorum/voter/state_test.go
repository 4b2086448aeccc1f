package voter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
)

// write lets the holder with a token write a record.
func (r *rig) record(token, seq uint64, text string) *wire.Reply {
	return r.v.answer(r.t.Context(), &wire.Call{Group: r.c.Group, Lock: lock, Write: &wire.Record{Token: token, Seq: seq, Text: text}})
}

func (r *rig) text() string {
	reply := r.v.answer(r.t.Context(), &wire.Call{Group: r.c.Group, Lock: lock, Read: true})
	if reply.Entry.Record == nil {
		return ""
	}
	return reply.Entry.Record.Text
}

// A record is kept for the holder alone, the newest wins, and it is there after all is gone but
// the disk.
func TestRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if got := r.record(7, 1, "of nobody"); got.Done || got.Refusal != "" {
		t.Errorf("got %+v", got)
	}
	r.wants("a", 7, votes.Granted)
	for _, tt := range []struct {
		token, seq uint64
		text, want string
	}{{7, 2, "second", "second"}, {7, 1, "first, late", "second"}, {6, 9, "of another", "second"}, {7, 3, "third", "third"}} {
		if got := r.record(tt.token, tt.seq, tt.text); got.Done != (tt.token == 7) {
			t.Errorf("%s: got %+v", tt.text, got)
		}
		if got := r.text(); got != tt.want {
			t.Errorf("%s: got %q; want %q", tt.text, got, tt.want)
		}
	}
	r.restart(func() {
		_ = os.Remove(r.promises())
		_ = os.WriteFile(filepath.Join(r.c.State, "records", ".new-1"), []byte("half"), 0o600)
	})
	if got := r.text(); got != "third" {
		t.Errorf("after a power cut: got %q", got)
	}
	if r.v.state.whole() {
		t.Error("with a damaged file its records count")
	}
	r.open()
	r.wants("b", 8, votes.Granted)
	if got := r.record(8, 1, "next"); !got.Done || r.text() != "next" {
		t.Errorf("got %+v, %q", got, r.text())
	}
}

// A greatest token is never forgotten, whatever the date.
func TestFloor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const far = 1_000_000_000
	token := today() + far
	r.wants("a", token, votes.Granted)
	r.restart(func() { _ = os.RemoveAll(r.c.Runtime) })
	r.open()
	if got := r.ask("b", 0); got.Token < token {
		t.Errorf("got token %d after %d", got.Token, token)
	}
}

// Of too many records the oldest that nobody holds is dropped. If all are held, that is a refusal,
// and no loss.
func TestManyRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wants("a", 7, votes.Granted)
	for i := range maxLocks {
		r.v.state.records[[2]string{"", fmt.Sprint(i)}] = &wire.Record{Token: uint64(maxLocks - i)}
	}
	if got := r.record(7, 1, "mine"); !got.Done || r.text() != "mine" {
		t.Errorf("got %+v", got)
	}
	if n := len(r.v.state.records); n != maxLocks {
		t.Errorf("%d records are kept", n)
	}
	if r.v.state.record([2]string{"", fmt.Sprint(maxLocks - 1)}) != nil {
		t.Error("the oldest is still there")
	}
	if err := r.v.state.keep([2]string{"", "new"}, &wire.Record{}, func([2]string) bool { return true }); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
