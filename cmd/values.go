package cmd

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// The types of option values. Each is a cli.Generic, whose Set says what is
// wrong with a value; the option or the variable is named by checkValue.

// checkValue refuses a value that an option cannot have. It has the value from
// the named source, "option -w" or "LEADERRUN_WAIT". The library would refuse
// it, too, in other words.
func checkValue(f cli.Flag, source, value string) error {
	var err error
	switch f := f.(type) {
	case *cli.BoolFlag:
		if _, bad := strconv.ParseBool(value); bad != nil {
			err = fmt.Errorf("%s is neither true nor false", output.Quote(value))
		}
	case *cli.GenericFlag:
		err = f.Value.Set(value)
	}
	if err != nil {
		return &locks.UsageError{What: source + ": " + err.Error()}
	}
	return nil
}

// A seconds is a duration, with or without a unit: "10" are seconds, as in
// flock(1) and timeout(1).
type seconds struct {
	d   time.Duration
	set bool
}

func (s *seconds) Set(v string) error {
	d, err := parseSeconds(v)
	if err == nil {
		*s = seconds{d, true}
	}
	return err
}

func (s *seconds) String() string {
	if s.d == 0 && !s.set {
		return ""
	}
	return s.d.String()
}

func parseSeconds(v string) (time.Duration, error) {
	text := v
	if _, err := strconv.ParseFloat(v, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is no duration like 10, 1.5 or 2m30s", output.Quote(v))
	case d < 0:
		return 0, fmt.Errorf("%s is negative", output.Quote(v))
	}
	return d, nil
}

// A code is an exit status.
type code struct {
	n   int
	set bool
}

func (c *code) Set(v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 255 {
		return fmt.Errorf("%s is no exit status from 0 to 255", output.Quote(v))
	}
	*c = code{n, true}
	return nil
}

func (c *code) String() string { return strconv.Itoa(c.n) }

// A count is a number of times.
type count int

func (c *count) Set(v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 1_000_000 {
		return fmt.Errorf("%s is no number from 0 to 1000000", output.Quote(v))
	}
	*c = count(n)
	return nil
}

func (c *count) String() string { return strconv.Itoa(int(*c)) }

// A slotCount is how many may hold a lock at once.
type slotCount struct {
	n   int
	set bool // else it is the plain lock, which has no slots
}

func (c *slotCount) Set(v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > locks.MaxSlot {
		return fmt.Errorf("%s is no number from 1 to %d", output.Quote(v), locks.MaxSlot)
	}
	*c = slotCount{n, true}
	return nil
}

func (c *slotCount) String() string {
	if !c.set {
		return ""
	}
	return strconv.Itoa(c.n)
}

// A priority is one among those who wait.
type priority struct {
	n   int
	set bool
}

func (r *priority) Set(v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < -1000 || n > 1000 {
		return fmt.Errorf("%s is no number from -1000 to 1000", output.Quote(v))
	}
	*r = priority{n, true}
	return nil
}

func (r *priority) String() string { return strconv.Itoa(r.n) }

// value returns it, or nil if none was given.
func (r *priority) value() *int {
	if !r.set {
		return nil
	}
	return &r.n
}

// A choice is one of a few words.
type choice struct {
	value string
	among []string
}

func (c *choice) Set(v string) error {
	if !slices.Contains(c.among, v) {
		return &locks.UsageError{What: "unknown value " + output.Quote(v), Near: locks.Nearest(v, c.among), Have: c.among}
	}
	c.value = v
	return nil
}

func (c *choice) String() string { return c.value }

// A level is a switch that may be repeated.
type level int

func (l *level) Set(v string) error {
	if on, err := strconv.ParseBool(v); err == nil && len(v) > 1 {
		*l = 0
		if on {
			*l = 1
		}
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return fmt.Errorf("%s is neither true nor false, nor a number of times", output.Quote(v))
	}
	*l = level(n)
	return nil
}

func (l *level) String() string { return strconv.Itoa(int(*l)) }

const defaultSignal = syscall.SIGTERM

// A signalValue is a signal by name or number: TERM, SIGTERM, 15.
type signalValue struct{ os.Signal }

func (s *signalValue) Set(v string) error {
	sig, ok := signals.Parse(v)
	if !ok {
		return fmt.Errorf("%s is no signal like TERM or 15", output.Quote(v))
	}
	s.Signal = sig
	return nil
}

func (s *signalValue) String() string {
	if s.Signal == nil {
		return ""
	}
	return signals.Name(s.Signal)
}
