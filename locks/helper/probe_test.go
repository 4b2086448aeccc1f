package helper

import (
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// TestLongProbe checks that of too many servers with too long texts, as much is returned
// as fits into a line, and nothing invalid.
func TestLongProbe(t *testing.T) {
	t.Parallel()
	got, err := start(t, able("fake://h/?servers=1000"), options()).Probe(t.Context())
	if err != nil || len(got.Servers) != locks.MaxServers || len(got.Findings) != locks.MaxFindings {
		t.Fatalf("got %d servers, %d findings, %v", len(got.Servers), len(got.Findings), err)
	}
	last := got.Servers[locks.MaxServers-1]
	if last.Address == "" || last.Class != "" || last.RTT != 0 || !last.Time.IsZero() || last.Ours.IsZero() {
		t.Errorf("got %+v", last)
	}
	if f := got.Findings[locks.MaxFindings-1]; f.Level != "warning" || f.Text == "" {
		t.Errorf("got %+v", f)
	}
}

// TestProbeIsClean checks that texts of servers become one line without control
// characters and without the password.
func TestProbeIsClean(t *testing.T) {
	t.Parallel()
	got, err := start(t, able("fake://u:swordfish@h/?servers=1&text=%1b[2J+swordfish%0a"), options()).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, f := got.Servers[1], got.Findings[1]
	for _, text := range []string{got.User, s.Address, s.Error, s.Version, s.Role, s.TLS, f.Check, f.Text, f.Fix} {
		if text == "" || strings.ContainsAny(text, "\x1b\n") || strings.Contains(text, "swordfish") {
			t.Errorf("a text is shown as %q", text)
		}
	}
}
