package gcs_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// setRecord sets the record, and fails the test if it cannot.
func setRecord(t testing.TB, l locks.Lock, text string) {
	t.Helper()
	if err := l.(locks.Recorder).SetRecord(drive.Context(t), []byte(text)); err != nil {
		t.Fatalf("set record: %v", err)
	}
}

// wantRecord reads the record with another handle, and compares it with want.
func wantRecord(t testing.TB, s *gcstest.Server, when, want string) {
	t.Helper()
	got, err := at(t, s, options("reader")).(locks.Recorder).Record(drive.Context(t))
	if err != nil || got == nil || string(got) != want {
		t.Errorf("%s: the record is %q, %v; want %q", when, got, err, want)
	}
}

// TestRecordWithoutRoom checks that the longest record fits with the largest state, and
// that SetRecord returns an error if metadata of others leaves no room. The lock is still
// renewed then, and that metadata stays. A record of somebody else is not read as a missing one.
func TestRecordWithoutRoom(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	o := options(strings.Repeat("\x01", 2000))
	o.RunID, o.Version = strings.Repeat("\x01", 64), strings.Repeat("\x01", 100)
	l := at(t, s, o)
	drive.Hold(t, l)
	longest := bytes.Repeat([]byte("x"), locks.MaxRecord)
	setRecord(t, l, string(longest))
	setRecord(t, l, "x")
	s.SetMetadata("p/jobs%2Fnightly", map[string]string{"owner": strings.Repeat("x", 4<<10)})
	err := l.(locks.Recorder).SetRecord(drive.Context(t), longest)
	if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(locks.Hint(err), "8 KiB") {
		t.Errorf("got %v (hint: %s)", err, locks.Hint(err))
	}
	drive.Renew(t, l)
	wantRecord(t, s, "after a record that had no room", "x")
	if o, _ := s.Object("p/jobs%2Fnightly"); len(o.Metadata["owner"]) != 4<<10 {
		t.Errorf("the metadata of others is %v", o.Metadata)
	}
	for _, value := range []string{"", "x", "base64:?", "base64:/w==", "base64:eA", strings.Repeat("\x00\xff", 1500)} {
		s.SetMetadata("p/jobs%2Fnightly", map[string]string{"owner": "", "leaderrun-record": value})
		if got, err := l.(locks.Recorder).Record(drive.Context(t)); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(locks.Hint(err), "--remove-custom-metadata=leaderrun-record") {
			t.Errorf("%s: got %q, %v (hint: %s)", locks.Abbreviate(value), got, err, locks.Hint(err))
		}
	}
	setRecord(t, l, "ours")
	wantRecord(t, s, "after one of another", "ours")
}
