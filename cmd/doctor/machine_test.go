package doctor

import (
	"strings"
	"testing"
)

// TestHelper compares the versions of core and helper.
func TestHelper(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version string
		foreign bool
		want    Level
	}{{"v1", false, OK}, {"v2", false, Warning}, {"", false, Warning}, {"v2", true, OK}} {
		s := newStore()
		s.version = tt.version
		checks := examine(t, s, func(c *Config) { c.Foreign = func(string) bool { return tt.foreign } })
		if c := find(t, checks, "helper"); c.Level != tt.want || !strings.Contains(c.Text, "/helper") || find(t, checks, "permissions").Level != OK {
			t.Errorf("version %q, of others %v: got %+v; want %s", tt.version, tt.foreign, c, tt.want)
		}
	}
	checks := examine(t, newStore(), func(c *Config) { c.Find = func(string) (string, error) { return "", nil } })
	if c := find(t, checks, "helper"); c.Level != OK || !strings.Contains(c.Text, "built in") {
		t.Errorf("got %+v; want the text that no helper is needed", c)
	}
}

// TestSettings: the check names variables, but does not show their values.
func TestSettings(t *testing.T) {
	t.Parallel()
	environ := []string{"FAKE_HOSTS=h:secret", "FAKE_EMPTY=", "LEADERRUN_FAKE_PASSWORD=secret", "OTHER=secret", "FAKES=1"}
	for _, tt := range []struct {
		backend   string
		addresses []string
		foreign   bool
		want      string
	}{
		{"fake:", []string{"FAKE_HOSTS"}, false, "address from FAKE_HOSTS; set: FAKE_HOSTS, LEADERRUN_FAKE_PASSWORD"},
		{"fake:", nil, false, "address from the backend's default; set: FAKE_HOSTS, LEADERRUN_FAKE_PASSWORD"},
		{"fake:", nil, true, "address from FAKE_HOSTS; set: FAKE_HOSTS, LEADERRUN_FAKE_PASSWORD"},
		{"fake://u:secret@h", []string{"FAKE_HOSTS"}, false, "address from the URL; set: FAKE_HOSTS, LEADERRUN_FAKE_PASSWORD"},
	} {
		checks := examine(t, newStore(), func(c *Config) {
			c.Backend, c.Environ = tt.backend, environ
			c.Variables = []string{"FAKE_HOSTS", "FAKE_EMPTY"}
			c.Addresses, c.Foreign = tt.addresses, func(string) bool { return tt.foreign }
		})
		if c := find(t, checks, "settings"); c.Text != tt.want {
			t.Errorf("got %q; want %q", c.Text, tt.want)
		}
		for _, c := range checks {
			if strings.Contains(c.Text, "secret") {
				t.Errorf("%+v shows a secret", c)
			}
		}
	}
}
