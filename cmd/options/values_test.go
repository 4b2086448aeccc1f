package options

import (
	"syscall"
	"testing"
	"time"
)

// TestDurationLimits: limits are included in what a duration may be.
func TestDurationLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1s": "", "1m": "", "30": "",
		"0":     `invalid duration "0" (want a second to a minute)`,
		"999ms": `invalid duration "999ms" (want a second to a minute)`,
		"61":    `invalid duration "61" (want a second to a minute)`,
		"-1":    `negative duration "-1"`,
	} {
		var d Duration
		err := d.Limit(time.Second, time.Minute, "a second to a minute").Set(text)
		if (err == nil) != (want == "") || err != nil && (err.Error() != want || d.D != 0) {
			t.Errorf("Set(%q): %v, %v; want %s", text, d.D, err, want)
		}
	}
	var d Duration
	if d.Positive().Set("0") == nil || d.Set("1ns") != nil {
		t.Errorf("a positive duration: %v", d.D)
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "10": 10 * time.Second, "1.5": 1500 * time.Millisecond, ".5": 500 * time.Millisecond,
		"10s": 10 * time.Second, "2m30s": 150 * time.Second, "100ms": 100 * time.Millisecond, "0s": 0, "+3": 3 * time.Second,
		"1d": 24 * time.Hour, "1e-1": 100 * time.Millisecond,
	} {
		var s Duration
		if err := s.Set(text); err != nil || s.D != want || s.Given {
			t.Errorf("Set(%q): %+v, %v; want %v", text, s, err, want)
		}
	}
	for _, text := range []string{"", " ", "soon", "-1", "-1s", "inf", "NaN", "10 s", "1s2", "99999999999", "1e999", "0x10"} {
		var s Duration
		if err := s.Set(text); err == nil || s.D != 0 {
			t.Errorf("Set(%q) = %v; want an error", text, s.D)
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"0": 0, "75": 75, "255": 255} {
		c := NewValues().Conflict
		if err := c.Set(text); err != nil || c.N != want || c.Given {
			t.Errorf("Set(%q): %v, %v; want %d", text, c.N, err, want)
		}
	}
	for _, text := range []string{"", "-1", "256", "x", "1.0", "0x1"} {
		c := NewValues().Conflict
		if err := c.Set(text); err == nil {
			t.Errorf("Set(%q) = %v; want an error", text, c.N)
		}
	}
}

func TestLevel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Level{"0": 0, "1": 1, "2": 2, "true": 1, "false": 0, "TRUE": 1} {
		l := Level(7)
		if err := l.Set(text); err != nil || l != want {
			t.Errorf("Set(%q): %d, %v; want %d", text, l, err, want)
		}
	}
	for _, text := range []string{"", "-1", "x", "perhaps"} {
		var l Level
		if err := l.Set(text); err == nil {
			t.Errorf("Set(%q) = %d; want an error", text, l)
		}
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	c := *new(Choice).Of("text", "json")
	if err := c.Set("json"); err != nil || c.Value != "json" {
		t.Errorf("got %q, %v", c.Value, err)
	}
	want := `unknown value "jsn" (did you mean "json"?); known: text, json`
	if err := c.Set("jsn"); err == nil || err.Error() != want || c.Value != "json" {
		t.Errorf("got %v; want %s", err, want)
	}
}

func TestSignalValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"TERM", "term", "SIGTERM", "sigterm", "15"} {
		var s Signal
		if err := s.Set(text); err != nil || s.Signal != syscall.SIGTERM {
			t.Errorf("Set(%q): %v, %v", text, s.Signal, err)
		}
	}
	var none Signal
	if err := none.Set("0"); err != nil || none.Signal != syscall.Signal(0) {
		t.Errorf("Set(0): %v, %v", none.Signal, err)
	}
	for _, text := range []string{"", "-15", "FOO", "999", "SIG", "TERM "} {
		var s Signal
		if err := s.Set(text); err == nil {
			t.Errorf("Set(%q) = %v; want an error", text, s.Signal)
		}
	}
}
