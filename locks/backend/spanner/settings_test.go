package spanner

import (
	"net/url"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
)

func parseText(t *testing.T, rawURL string, env map[string]string) (*settings, error) {
	t.Helper()
	u, err := locks.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return parse(u, func(name string) string { return env[name] })
}

func TestSettings(t *testing.T) {
	t.Parallel()
	type env = map[string]string
	for _, tt := range []struct {
		url  string
		env  env
		want settings
	}{
		{"spanner://p-1/i-1/d_1", nil, settings{"p-1", "i-1", "d_1", "leaderrun_locks", ""}},
		{"spanner://p-1/i-1/d_1/?table=Ops.locks", nil, settings{"p-1", "i-1", "d_1", "Ops.locks", ""}},
		{"spanner", env{"LEADERRUN_SPANNER_DATABASE": "p/i/d"}, settings{"p", "i", "d", "leaderrun_locks", ""}},
		{"spanner:", env{"LEADERRUN_SPANNER_DATABASE": "projects/example.com:p/instances/i/databases/d"}, settings{"example.com:p", "i", "d", "leaderrun_locks", ""}},
		{"spanner://p/i/d", env{"LEADERRUN_SPANNER_DATABASE": "x/y/z", "SPANNER_EMULATOR_HOST": "127.0.0.1:9010"}, settings{"p", "i", "d", "leaderrun_locks", "http://127.0.0.1:9010"}},
		{"spanner://p/i/d?endpoint=https://e:1", env{"SPANNER_EMULATOR_HOST": "h:1"}, settings{"p", "i", "d", "leaderrun_locks", "https://e:1"}},
	} {
		got, err := parseText(t, tt.url, tt.env)
		if err != nil || *got != tt.want {
			t.Errorf("%s with %v: got %+v, %v; want %+v", tt.url, tt.env, got, err, tt.want)
		}
	}
}

// TestSettingsRefused checks what is refused, and that no error shows a password.
func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]string{
		"spanner:":                                 "no database is named",
		"spanner:p":                                "with two slashes",
		"spanner://p/i":                            "is not PROJECT/INSTANCE/DATABASE",
		"spanner://p/i/d/x":                        "is not PROJECT/INSTANCE/DATABASE",
		"spanner:///i/d":                           "invalid name",
		"spanner://p/i/D":                          "invalid name",
		"spanner://p/../d":                         "invalid name",
		"spanner://p/i/d#f":                        "a part after #",
		"spanner://user@p/i/d":                     "cannot have a user",
		"spanner://p:80/i/d":                       "cannot have a port",
		"spanner://p/i/d?tabel=x":                  `did you mean "table"?`,
		"spanner://p/i/d?table=a.b.c":              "invalid table name",
		"spanner://p/i/d?table=a%60b":              "invalid table name",
		"spanner://p/i/d?endpoint=ftp://h:1":       "want the address of a server",
		"spanner://p/i/d?endpoint=http://h":        "want the address of a server",
		"spanner://p/i/d?endpoint=http://h:1/path": "want the address of a server",
		"spanner://p/i/d?endpoint=" + url.QueryEscape("http://u:opensesame@h:1"): "want the address of a server",
	} {
		backendtest.Refuses(t, parse, rawURL, nil, want)
	}
}

// TestStatements checks the statements of both dialects, for a table in a schema.
func TestStatements(t *testing.T) {
	t.Parallel()
	for d, want := range map[*dialect][2]string{
		googleSQL:  {"DELETE FROM `ops`.`order` WHERE name = @p1 AND part = @p2 AND updated = @p3", "CREATE TABLE `ops`.`order` (name STRING(256)"},
		postgreSQL: {`DELETE FROM "ops"."order" WHERE name = $1 AND part = $2 AND updated = $3`, `CREATE TABLE "ops"."order" (name varchar(256)`},
	} {
		if got := d.sql(deleteSQL, "ops.order"); got != want[0] {
			t.Errorf("got %s", got)
		}
		if got := d.create("ops.order"); !strings.HasPrefix(got, want[1]) {
			t.Errorf("got %s", got)
		}
	}
}
