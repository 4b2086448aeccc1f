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

// TestRecordOfAnother checks that a record that leaderrun did not write is not read as a
// missing one, does not keep anybody from the lock, and is replaced by the next SetRecord.
func TestRecordOfAnother(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"", "x", "base64:", "base64:?", "base64:/w==", "base64:eA", "base64:" + strings.Repeat("eHh4", 1500), strings.Repeat("\x00\xff", 1500),
	} {
		t.Run(locks.Abbreviate(value), func(t *testing.T) {
			t.Parallel()
			s := gcstest.Start(t)
			l := at(t, s, options("a"))
			drive.Hold(t, l)
			s.SetMetadata("p/jobs%2Fnightly", map[string]string{"leaderrun-record": value})
			got, err := l.(locks.Recorder).Record(drive.Context(t))
			if value == "base64:" {
				if err != nil || got == nil || len(got) > 0 {
					t.Errorf("an empty record: %q, %v", got, err)
				}
			} else if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(locks.Hint(err), "--remove-custom-metadata=leaderrun-record") {
				t.Errorf("got %q, %v (hint: %s)", got, err, locks.Hint(err))
			}
			drive.Renew(t, l)
			setRecord(t, l, "ours")
			wantRecord(t, s, "replaced", "ours")
		})
	}
}

// TestRecordWithoutRoom checks that the longest record fits with the largest state, and
// that SetRecord returns an error if metadata of others leaves no room. The lock is still
// renewed then.
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
}

// TestForeignChangeIsNoLoss lets somebody else set another key of the metadata, as the
// service does when it changes the storage class. The lock is still ours.
func TestForeignChangeIsNoLoss(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	l := at(t, s, options("a"))
	drive.Hold(t, l)
	s.SetMetadata("p/jobs%2Fnightly", map[string]string{"owner": "team-x"})
	if err := renew(t, l); err != nil {
		t.Errorf("renew: %v", err)
	}
	drive.Release(t, l)
	if o, _ := s.Object("p/jobs%2Fnightly"); o.Metadata["owner"] != "team-x" {
		t.Errorf("the metadata is %v", o.Metadata)
	}
}
