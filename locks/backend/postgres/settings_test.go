package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

func settingsOf(address string) (*settings, error) {
	u, err := locks.Parse(address)
	if err != nil {
		return nil, err
	}
	return parse(u, os.Getenv)
}

func TestSettings(t *testing.T) {
	for address, want := range map[string][3]string{ // the address for messages, the schema, the table
		"postgres://db/app": {"postgres://db:5432/app", "public", `"public".leaderrun_locks`},
		"postgres://u:secret@a:1,b:2/app?schema=Ops%22s":           {"postgres://a:1,b:2/app?schema=Ops%22s", `Ops"s`, `"Ops""s".leaderrun_locks`},
		"postgres://u@a,b:2/?sslmode=prefer":                       {"postgres://a:5432,b:2/u", "public", `"public".leaderrun_locks`},
		"postgres:///app?host=/run/pg&user=u":                      {"postgres:///run/pg/app", "public", `"public".leaderrun_locks`},
		"postgresql://u@%2Frun%2Fpg,[::1],[::2]:1/app":             {"postgres:///run/pg,[::1]:5432,[::2]:1/app", "public", `"public".leaderrun_locks`},
		"postgres://?host=a,b&port=1,2&dbname=app&schema=s+t":      {"postgres://a:1,b:2/app?schema=s+t", "s t", `"s t".leaderrun_locks`},
		"postgres://u@[::1]:1/app?target_session_attrs=any":        {"postgres://[::1]:1/app", "public", `"public".leaderrun_locks`},
		"postgres://db/app?application_name=a+b&connect_timeout=1": {"postgres://db:5432/app", "public", `"public".leaderrun_locks`},
	} {
		s, err := settingsOf(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got := [3]string{s.addr(), s.schema, s.where()}; got != want {
			t.Errorf("%s: got %q; want %q", address, got, want)
		}
	}
}

// TestSettingsOfPsql checks that settings that the URL omits come from where psql takes
// them.
func TestSettingsOfPsql(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"services": "[prod]\nhost=service.example\nport=7\ndbname=ops\n",
		"pass":     "service.example:7:ops:me:of the file\nenv.example:8:*:me:of a line\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PGSERVICEFILE", filepath.Join(dir, "services"))
	t.Setenv("PGPASSFILE", filepath.Join(dir, "pass"))
	t.Setenv("PGUSER", "me")
	t.Setenv("PGHOST", "env.example")
	t.Setenv("PGPORT", "8")
	for address, want := range map[string][2]string{
		"postgres":                     {"postgres://env.example:8/me", "of a line"},
		"postgres:///app":              {"postgres://env.example:8/app", "of a line"},
		"postgres://?service=prod":     {"postgres://service.example:7/ops", "of the file"},
		"postgres://me:mine@h/app":     {"postgres://h:8/app", "mine"},
		"postgres://h:1/?service=prod": {"postgres://h:1/ops", ""},
	} {
		s, err := settingsOf(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		c, err := s.config()
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{s.addr(), c.Password}; got != want {
			t.Errorf("%s: got %q; want %q", address, got, want)
		}
	}
	t.Setenv("PGSERVICE", "prod")
	if s, err := settingsOf("postgres"); err != nil || s.addr() != "postgres://service.example:7/ops" {
		t.Errorf("with PGSERVICE: %v, %v", s, err)
	}
}

// TestServiceFile checks which keywords of a service file are refused, as the driver would send
// them to the server, and which do not matter.
func TestServiceFile(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for line, want := range map[string]string{
		"keepalives=1\nkeepalives_idle=9\ntcp_user_timeout=1\ngssencmode=prefer\nload_balance_hosts=random\nssl_min_protocol_version=TLSv1.2\nsslcompression=0": "",
		"application_name=a\noptions=-c\\ geqo=off": "",
		"hostaddr=127.0.0.1":                        "hostaddr, which the backend postgres does not support: remove it, and give the address",
		"requirepeer=postgres":                      "requirepeer",
		"sslcrl=/x":                                 "sslcrl",
		"gssencmode=require":                        "use TLS",
		"ssl_min_protocol_version=TLSv1.3":          "let the server require",
		"replication=database":                      "replication",
		"scram_client_key=x":                        "scram_client_key",
	} {
		if err := os.WriteFile(filepath.Join(home, ".pg_service.conf"), []byte("[s]\nhost=h\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := settingsOf("postgres://?service=s")
		if want != "" {
			if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %v; want an error with %q", line, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		c, err := s.config()
		if err != nil {
			t.Fatal(err)
		}
		delete(c.RuntimeParams, "application_name")
		delete(c.RuntimeParams, "options")
		if len(c.RuntimeParams) > 0 {
			t.Errorf("%q: %q would be sent to the server", line, c.RuntimeParams)
		}
	}
	if err := os.Mkdir(filepath.Join(home, ".postgresql"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".postgresql", "root.crl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := settingsOf("postgres://h/d"); err == nil || !strings.Contains(err.Error(), "root.crl") {
		t.Errorf("with a list of revoked certificates: %v", err)
	}
	if _, err := settingsOf("postgres://h/d?sslmode=disable"); err != nil {
		t.Errorf("with such a list and without TLS: %v", err)
	}
}

func TestWrongSettings(t *testing.T) {
	for address, want := range map[string]string{
		"postgres:host":                                      "two slashes",
		"postgres://h/app#x":                                 "after #",
		"postgres://h/app?sslmod=disable":                    `did you mean "sslmode"`,
		"postgres://h/app?password=hunter2":                  "PGPASSWORD",
		"postgres://h/app?sslpassword=hunter2":               "PGSSLPASSWORD",
		"postgres://u:hunter2@h:x/app":                       "port",
		"postgres://u:hunter2@h/app?sslmode=no":              `unknown sslmode "no"; known: disable, allow, prefer, require, verify-ca, verify-full`,
		"postgres://h/app?sslmode=verify-ful":                `did you mean "verify-full"`,
		"postgres://u:hunter2@h/app?sslrootcert=/nowhere":    "/nowhere",
		"postgres://h/app?service=none":                      "service",
		"postgres://h/app?target_session_attrs=standby":      "always read-write",
		"postgres://h/app?schema=" + strings.Repeat("x", 64): "at most 63 bytes",
		"postgres://h/app?schema=a&schema=b":                 "given twice",
		"postgres://h/app?sslcert=/nowhere":                  "sslkey",
	} {
		_, err := settingsOf(address)
		if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v; want an error with %q", address, err, want)
		}
	}
}
