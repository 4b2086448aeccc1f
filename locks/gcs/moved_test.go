package gcs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

const lockObject = "p/jobs%2Fnightly"

// TestRenewalMovesTheObject: a renewal is a change, as nobody promises that a write
// that changes nothing moves what others judge the lease by. One whose answer was
// lost, or that arrived twice, is no exception.
func TestRenewalMovesTheObject(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	a := at(t, s, options("a"))
	drive.Hold(t, a)
	for i, fault := range []gcstest.Fault{{}, {}, {LoseReply: true}, {Twice: true}} {
		s.Age(lockObject, time.Hour)
		before, _ := s.Object(lockObject)
		s.Next("patch", fault)
		if err := renew(t, a); err != nil {
			drive.Renew(t, a)
		}
		if after, _ := s.Object(lockObject); after.Metageneration <= before.Metageneration || !after.Updated.After(before.Updated) {
			t.Errorf("renewal %d made of %+v %+v", i, before, after)
		}
		if g, err := at(t, s, options("b")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
			t.Fatalf("beside a, just after its renewal, b was granted %+v, %v", g, err)
		}
	}
}

// stuck has a value of the object stay as it is, as far as answers tell.
func stuck(s *gcstest.Server, field string) {
	o, _ := s.Object(lockObject)
	value := map[string]any{"metageneration": fmt.Sprint(o.Metageneration), "updated": o.Updated.Truncate(time.Millisecond).Format(time.RFC3339Nano)}[field]
	s.Fault(func(r gcstest.Request) gcstest.Fault {
		if field == "metageneration" && r.Verb != "patch" { // else what follows were refused
			return gcstest.Fault{}
		}
		return gcstest.Fault{Object: func(fields map[string]any) { fields[field] = value }}
	})
}

// TestStoreThatDoesNotMove is one whose answers to changes do not show what leases
// rely on. It is named, nothing is renewed nor had, and nothing is lost for sure.
func TestStoreThatDoesNotMove(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"metageneration", "updated"} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			s := gcstest.Start(t)
			a := at(t, s, options("a"))
			drive.Hold(t, a)
			stuck(s, field)
			for range 2 {
				if err := renew(t, a); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), field) || locks.Hint(err) == "" {
					t.Errorf("renew: %v (hint: %s); want ErrUnavailable that names %s", err, locks.Hint(err), field)
				}
			}
			s.Fault(nil)
			drive.Renew(t, a)
			drive.Release(t, a)
			stuck(s, field)
			if g, err := at(t, s, options("b")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), field) {
				t.Errorf("acquire: %+v, %v; want ErrUnavailable that names %s", g, err, field)
			}
		})
	}
}

// TestTakeWithoutTrace: the write that takes the lock took effect, its answer was
// lost, and what is read shows no later "updated" than before.
func TestTakeWithoutTrace(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	prepare(t, s, "released")
	before, _ := s.Object(lockObject)
	s.Fault(func(r gcstest.Request) gcstest.Fault {
		return gcstest.Fault{LoseReply: r.Verb == "patch", Object: func(fields map[string]any) { fields["updated"] = before.Updated.Format(time.RFC3339Nano) }}
	})
	if g, err := at(t, s, options("b")).Acquire(drive.Context(t), true); err == nil {
		t.Errorf("granted %+v, though nobody can see since when", g)
	}
}

// TestClockSetBack: the first stamp of the clock that was set back is before the
// last. That renewal fails, and those after it succeed. So does a takeover.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	a := at(t, s, options("a"))
	drive.Hold(t, a)
	s.Age(lockObject, -time.Minute) // it was stamped by the clock before
	if err := renew(t, a); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "updated") {
		t.Errorf("renew: %v; want ErrUnavailable that names updated", err)
	}
	drive.Renew(t, a)
	drive.Release(t, a)
	s.Age(lockObject, -time.Minute)
	drive.Hold(t, at(t, s, options("b")))
}

// TestSameRecordAgain: to write the text that is there changes nothing, and is well.
func TestSameRecordAgain(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	a := at(t, s, options("a"))
	drive.Hold(t, a)
	setRecord(t, a, "x")
	setRecord(t, a, "x")
	wantRecord(t, s, "twice the same", "x")
	drive.Renew(t, a)
	stuck(s, "metageneration")
	if err := a.(locks.Recorder).SetRecord(drive.Context(t), []byte("y")); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("a change that moved nothing: %v; want ErrUnavailable", err)
	}
}

// TestRecordOfAnotherVersion: one without what this version adds, and one with what
// another may add, are records as well: the lock is renewed, held, and taken over.
func TestRecordOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]*strings.Replacer{
		"older": strings.NewReplacer(`,"renewals":2`, ""),
		"newer": strings.NewReplacer(`"renewals":2`, `"renewals":18446744073709551615,"more":{"than":["this"]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gcstest.Start(t)
			a := at(t, s, options("a"))
			drive.Hold(t, a)
			drive.Renew(t, a)
			drive.Renew(t, a)
			before := record(t, s)
			after := edit.Replace(before)
			if after == before {
				t.Fatalf("the record is %s", before)
			}
			s.SetMetadata(lockObject, map[string]string{"leaderrun": after})
			if _, err := at(t, s, options("b")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
				t.Errorf("a contender: %v; want ErrHeld", err)
			}
			drive.Renew(t, a)
			s.SetMetadata(lockObject, map[string]string{"leaderrun": after})
			s.Age(lockObject, time.Hour)
			drive.Hold(t, at(t, s, options("b")))
		})
	}
}
