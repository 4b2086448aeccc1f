package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestRenameFenced checks that a file is not replaced by a holder that was frozen until
// another one had led.
func TestRenameFenced(t *testing.T) {
	t.Parallel()
	need(t, "flock", "util-linux")
	store := t.TempDir()
	report := filepath.Join(store, "report")
	rename := "'" + absolute(t, "fence/rename-fenced") + "'"
	job := `echo "$1" >` + report + `.$LEADERRUN_TOKEN && ` +
		rename + ` ` + report + `.$LEADERRUN_TOKEN ` + report + ` "$LEADERRUN_TOKEN"`
	if got := staleWrite(t, []string{"PATH=" + os.Getenv("PATH")}, job); got != 1 {
		t.Errorf("the late write ended with %d, want 1", got)
	}
	if got := read(t, report); got != "fresh\n" {
		t.Errorf("the file has %q", got)
	}
}

// TestRenameFencedTokens checks that invalid tokens are refused, and that a file without
// a fence accepts any.
func TestRenameFencedTokens(t *testing.T) {
	t.Parallel()
	need(t, "flock", "util-linux")
	store := t.TempDir()
	file := filepath.Join(store, "f")
	for _, c := range []struct {
		token  string
		status int
	}{
		{"7", 0}, {"7", 0}, {"6", 1}, {"x", 1}, {"", 1}, {"99999999999999999999", 1}, {"10", 0}, {"9", 1},
	} {
		write(t, file+".new", c.token+"\n", 0o644)
		p := start(t, exec.Command(absolute(t, "fence/rename-fenced"), file+".new", file, c.token))
		p.exits(c.status)
		if (read(t, file) == c.token+"\n") != (c.status == 0) {
			t.Errorf("after token %q the file has %q", c.token, read(t, file))
		}
	}
	write(t, file+".token", "", 0o644) // a damaged token
	write(t, file+".new", "11\n", 0o644)
	start(t, exec.Command(absolute(t, "fence/rename-fenced"), file+".new", file, "11")).exits(1)
}

// TestRenameFencedWaits checks that one comparison waits for another.
func TestRenameFencedWaits(t *testing.T) {
	t.Parallel()
	need(t, "flock", "util-linux")
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	write(t, file+".new", "", 0o644)
	other := exec.Command("flock", file+".lock", "sh", "-c", "touch has; until [ -e go ]; do sleep 0.1; done; echo 8 >f.token")
	other.Dir = dir
	holder := start(t, other)
	eventually(t, "the other process has the lock", func() bool { return exists(filepath.Join(dir, "has")) })
	rename := start(t, exec.Command(absolute(t, "fence/rename-fenced"), file+".new", file, "7"))
	var lock syscall.Stat_t
	if err := syscall.Stat(file+".lock", &lock); err != nil {
		t.Fatal(err)
	}
	waits := regexp.MustCompile(fmt.Sprintf(`-> FLOCK .*:%d `, lock.Ino))
	eventually(t, "rename-fenced waits", func() bool { return waits.MatchString(read(t, "/proc/locks")) })
	write(t, filepath.Join(dir, "go"), "", 0o644)
	holder.exits(0)
	rename.exits(1)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// TestFenceSQL checks that a row is not written by a holder that was frozen until another
// one had led.
func TestFenceSQL(t *testing.T) {
	t.Parallel()
	env := startPostgres(t)
	psql := func(args ...string) string {
		c := exec.Command("psql", append([]string{"--quiet", "--no-psqlrc", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1"}, args...)...)
		c.Env = env
		p := start(t, c)
		p.exits(0)
		return p.stdout.String()
	}
	psql("--file", "fence/fence.sql", "--command", "CREATE TABLE reports (value text)")
	if got := staleWrite(t, env, "'"+absolute(t, "fence/write-sql")+`' "$1"`); got != 3 {
		t.Errorf("the late write ended with %d, want 3", got)
	}
	if got := psql("--command", "SELECT value FROM reports"); got != "fresh\n" {
		t.Errorf("the table has %q", got)
	}
}

func absolute(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startPostgres starts a server on a socket, and returns the environment of its clients.
func startPostgres(t *testing.T) []string {
	t.Helper()
	need(t, "psql", "postgresql")
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		t.Fatal(err)
	}
	bin := strings.Join(dirs, ":") + ":" + os.Getenv("PATH")
	dir, err := os.MkdirTemp("", "postgres-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := []string{"PATH=" + bin, "PGHOST=" + dir, "PGUSER=fleet", "PGDATABASE=postgres"}
	server := func(args ...string) *process {
		c := exec.Command("env", args...)
		c.Dir, c.Env = dir, env
		if os.Geteuid() == 0 { // PostgreSQL does not start as root
			const nobody = 65534
			if err := os.Chown(dir, nobody, nobody); err != nil {
				t.Fatal(err)
			}
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		return start(t, c)
	}
	server("initdb", "--pgdata", dir+"/data", "--auth", "trust", "--username", "fleet", "--no-sync").exits(0)
	p := server("postgres", "-D", dir+"/data", "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	eventually(t, "PostgreSQL is ready", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("PostgreSQL ended:\n%s", &p.stderr)
		default:
		}
		c := exec.Command("pg_isready", "--quiet")
		c.Env = env
		return c.Run() == nil
	})
	return env
}
