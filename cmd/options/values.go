package options

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/durations"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// The types of option values. Each is a cli.Generic, whose Set says what is wrong with a
// value, but not which option has it.

// A textValue is a string, which any text can be.
type textValue string

func (t *textValue) Set(v string) error {
	*t = textValue(v)
	return nil
}

func (t *textValue) String() string { return string(*t) }

// A switchValue is a bool.
type switchValue bool

func (s *switchValue) Set(v string) error {
	on, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("invalid value %s (want true or false)", output.Quote(v))
	}
	*s = switchValue(on)
	return nil
}

func (s *switchValue) String() string { return strconv.FormatBool(bool(*s)) }

// A Duration may have a unit. A bare number is seconds, as in flock(1) and timeout(1).
type Duration struct {
	D           time.Duration
	Given       bool // it is not the default
	least, most time.Duration
	limits      string // for errors; "": there are none
}

// Limit sets the limits, and what errors say about them.
func (d *Duration) Limit(least, most time.Duration, limits string) *Duration {
	d.least, d.most, d.limits = least, most, limits
	return d
}

// Positive says that the duration must be more than 0.
func (d *Duration) Positive() *Duration { return d.Limit(1, math.MaxInt64, "more than 0") }

func (d *Duration) Set(v string) error {
	parsed, ok := durations.Parse(v)
	switch {
	case !ok:
		return fmt.Errorf("invalid duration %s (want 10, 1.5, 2m30s or 1d)", output.Quote(v))
	case parsed < 0:
		return fmt.Errorf("negative duration %s", output.Quote(v))
	case d.limits != "" && (parsed < d.least || parsed > d.most):
		return fmt.Errorf("invalid duration %s (want %s)", output.Quote(v), d.limits)
	}
	d.D = parsed
	return nil
}

func (d *Duration) given()         { d.Given = true }
func (d *Duration) String() string { return d.D.String() }

// A Number is an integer within limits.
type Number struct {
	N        int
	Given    bool // it is not the default
	min, max int
	kind     string // for errors: "number", "exit status"
}

// in sets the kind and the limits.
func (n *Number) in(kind string, low, high int) *Number {
	n.kind, n.min, n.max = kind, low, high
	return n
}

func (n *Number) Set(v string) error {
	parsed, err := strconv.Atoi(v)
	if err != nil || parsed < n.min || parsed > n.max {
		return fmt.Errorf("invalid %s %s (want %d to %d)", n.kind, output.Quote(v), n.min, n.max)
	}
	n.N = parsed
	return nil
}

func (n *Number) given()         { n.Given = true }
func (n *Number) String() string { return strconv.Itoa(n.N) }

// A Choice is one of a few words.
type Choice struct {
	Value string
	among []string
}

// Of sets the words.
func (c *Choice) Of(words ...string) *Choice {
	c.among = words
	return c
}

func (c *Choice) Set(v string) error {
	if !slices.Contains(c.among, v) {
		return &locks.UsageError{What: "unknown value " + output.Quote(v), Near: locks.Nearest(v, c.among), Have: c.among}
	}
	c.Value = v
	return nil
}

func (c *Choice) String() string { return c.Value }

// A Level is a switch that may be repeated.
type Level int

func (l *Level) Set(v string) error {
	n, err := strconv.Atoi(v)
	if on, bad := strconv.ParseBool(v); bad == nil && len(v) > 1 {
		n, err = 0, nil
		if on {
			n = 1
		}
	}
	if err != nil || n < 0 {
		return fmt.Errorf("invalid value %s (want true, false or a number)", output.Quote(v))
	}
	*l = Level(n)
	return nil
}

func (l *Level) String() string { return strconv.Itoa(int(*l)) }

// A Signal is a signal by name or number: TERM, SIGTERM, 15.
type Signal struct{ os.Signal }

func (s *Signal) Set(v string) error {
	sig, ok := signals.Parse(v)
	if !ok {
		return fmt.Errorf("invalid signal %s (want TERM or 15, say)", output.Quote(v))
	}
	s.Signal = sig
	return nil
}

func (s *Signal) String() string { return signals.Name(s.Signal) }
