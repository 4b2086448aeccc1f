package doctor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// TestEachOperation breaks one operation at a time. The check names it, with a fix, and the
// other operations are still tried.
func TestEachOperation(t *testing.T) {
	t.Parallel()
	denied := fmt.Errorf("the server says no: %w", locks.ErrDenied)
	mute := errors.New("it succeeds, and does nothing")
	for _, tt := range []struct {
		broken string
		err    error
		at     string
		class  error
	}{
		{"renew", denied, "renew", locks.ErrDenied},
		{"inspect", denied, "inspect", locks.ErrDenied},
		{"blind", mute, "inspect", errOther},
		{"record", denied, "record", locks.ErrDenied},
		{"read", mute, "record", errOther},
		{"ask", denied, "ask", locks.ErrDenied},
		{"deliver", mute, "ask", errOther},
		{"list", denied, "list", locks.ErrDenied},
		{"listed", mute, "list", errOther},
	} {
		t.Run(tt.broken, func(t *testing.T) {
			t.Parallel()
			s := newStore()
			s.fail[tt.broken] = tt.err
			if tt.broken == "inspect" { // asking begins with a look
				s.can = []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanForget}
			}
			checks := examine(t, s, nil)
			c := find(t, checks, tt.at)
			if c.Level != Error || c.Fix == "" || !errors.Is(c.classed(), tt.class) {
				t.Errorf("got %+v of class %v; want an error of class %v, with a fix", c, c.class, tt.class)
			}
			well := find(t, checks, "permissions")
			if strings.Contains(well.Text, tt.at) || !strings.Contains(well.Text, "acquire") || !strings.Contains(well.Text, "release") {
				t.Errorf("%s failed, and well is %q", tt.at, well.Text)
			}
			if len(s.forgot) != 1 {
				t.Error("it was not cleaned up")
			}
		})
	}
}

// TestAskedLater: a request arrives with the first renewal, however rare renewals are.
func TestAskedLater(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.later = true
	checks := examine(t, s, func(c *Config) { c.Spacing = time.Second })
	if c := find(t, checks, "permissions"); c.Figures["ask_ns"] != queuePause+time.Millisecond {
		t.Errorf("got %+v; want a request that arrives a millisecond after the first renewal", c)
	}
}
