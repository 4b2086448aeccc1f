package postgres

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &known.Postgres, "postgres://h/d", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}

// TestTool checks that no variable and no keyword of libpq is ignored without a reason.
func TestTool(t *testing.T) {
	t.Parallel()
	backendtest.Tool(t, "testdata/keywords.txt", func(keyword string) bool {
		c, err := pgconn.ParseConfig("sslmode=disable " + keyword + "=x")
		if err != nil { // the driver reads it
			return true
		}
		_, unknown := c.RuntimeParams[keyword]
		return !unknown || slices.Contains([]string{"options", "application_name"}, keyword) || checkKeywords(c) != nil
	})
	found, _ := filepath.Glob("/usr/lib/*/libpq.so.5") // the pattern is valid
	if len(found) == 0 {
		realserver.Missing(t, "there is no libpq")
	}
	library, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, m := range regexp.MustCompile(`\x00(PG[A-Z_]{2,})\x00`).FindAllStringSubmatch(string(library), -1) {
		asked = append(asked, m[1])
	}
	asked = slices.DeleteFunc(asked, func(name string) bool { return len(name) > 6 && name[:6] == "PGRES_" })
	if !slices.Contains(asked, "PGHOSTADDR") {
		t.Fatalf("libpq says that its variables are %q", asked)
	}
	backendtest.Tool(t, "testdata/variables.txt", backendtest.Variable(&known.Postgres), asked...)
}
