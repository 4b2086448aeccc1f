package cmd

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "10": 10 * time.Second, "1.5": 1500 * time.Millisecond, ".5": 500 * time.Millisecond,
		"10s": 10 * time.Second, "2m30s": 150 * time.Second, "100ms": 100 * time.Millisecond, "0s": 0, "+3": 3 * time.Second,
	} {
		var s seconds
		if err := s.Set(text); err != nil || s.d != want || !s.set {
			t.Errorf("Set(%q): %+v, %v; want %v", text, s, err, want)
		}
	}
	for _, text := range []string{"", " ", "soon", "-1", "-1s", "1e3", "inf", "NaN", "1d", "10 s", "1s2", "99999999999", "1e999", "0x10"} {
		var s seconds
		if err := s.Set(text); err == nil || s.set {
			t.Errorf("Set(%q) = %v; want an error", text, s.d)
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"0": 0, "75": 75, "255": 255} {
		var c code
		if err := c.Set(text); err != nil || c != (code{want, true}) {
			t.Errorf("Set(%q): %v, %v; want %d", text, c, err, want)
		}
	}
	for _, text := range []string{"", "-1", "256", "x", "1.0", "0x1"} {
		var c code
		if err := c.Set(text); err == nil {
			t.Errorf("Set(%q) = %v; want an error", text, c)
		}
	}
}

func TestLevel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]level{"0": 0, "1": 1, "2": 2, "true": 1, "false": 0, "TRUE": 1} {
		l := level(7)
		if err := l.Set(text); err != nil || l != want {
			t.Errorf("Set(%q): %d, %v; want %d", text, l, err, want)
		}
	}
	for _, text := range []string{"", "-1", "x", "perhaps"} {
		var l level
		if err := l.Set(text); err == nil {
			t.Errorf("Set(%q) = %d; want an error", text, l)
		}
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	c := choice{"text", []string{"text", "json"}}
	if err := c.Set("json"); err != nil || c.value != "json" {
		t.Errorf("got %q, %v", c.value, err)
	}
	want := `unknown value "jsn" (did you mean "json"?); known: text, json`
	if err := c.Set("jsn"); err == nil || err.Error() != want || c.value != "json" {
		t.Errorf("got %v; want %s", err, want)
	}
}

func TestSignalValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"TERM", "term", "SIGTERM", "sigterm", "15"} {
		var s signalValue
		if err := s.Set(text); err != nil || s.Signal != syscall.SIGTERM {
			t.Errorf("Set(%q): %v, %v", text, s.Signal, err)
		}
	}
	for _, text := range []string{"", "0", "-15", "FOO", "999", "SIG", "TERM "} {
		var s signalValue
		if err := s.Set(text); err == nil {
			t.Errorf("Set(%q) = %v; want an error", text, s.Signal)
		}
	}
}

// TestBadValuesAreQuoted has a value that nobody would want to see in full.
func TestBadValuesAreQuoted(t *testing.T) {
	t.Parallel()
	bad := "etcd://u:opensesame@h\x1b[2J" + strings.Repeat("x", 1000)
	for _, c := range testCommands() {
		for _, f := range c.Flags {
			err := checkValue(f, "option --"+f.Names()[0], bad)
			if err == nil {
				continue // an option that takes any text
			}
			if text := err.Error(); strings.Contains(text, "sesame") || strings.Contains(text, "\x1b") || len(text) > 300 {
				t.Errorf("--%s: %q", f.Names()[0], text)
			}
		}
	}
}
