package gcs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

const lockObject = "p/jobs%2Fnightly"

// stuck makes answers show the current value of a field forever.
func stuck(s *gcstest.Server, field string) {
	o, _ := s.Object(lockObject)
	value := map[string]any{"metageneration": fmt.Sprint(o.Metageneration), "updated": o.Updated.Truncate(time.Millisecond).Format(time.RFC3339Nano)}[field]
	s.Fault(func(r gcstest.Request) gcstest.Fault {
		if field == "metageneration" && r.Verb != "patch" { // otherwise the conditions of later requests would fail
			return gcstest.Fault{}
		}
		return gcstest.Fault{Object: func(fields map[string]any) { fields[field] = value }}
	})
}

// TestStoreThatDoesNotMove uses a store whose answers to changes do not show a change of
// the field that leases rely on. Renew and Acquire fail with an error that names the field,
// and the lock is not reported as lost.
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
