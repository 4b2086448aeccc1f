package postgres

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leaderrun/leaderrun/locks/lockstest/badserver"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// A farConn seems to lead to an address of another machine.
type farConn struct{ net.Conn }

func (farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 5432} }

// TestClearPassword logs in at a server that asks for the password in clear text.
func TestClearPassword(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method byte // of the login: 3 is clear text, 5 is MD5
		far    bool
		want   string
	}{
		{3, true, "192.0.2.1:5432"},
		{3, false, ""},
		{5, true, ""},
	} {
		got := make(chan string, 1)
		addr := badserver.Start(t, badserver.PostgresLogin(tt.method, func(answer string) { got <- answer }))
		s, err := settingsOf("postgres://u:hunter2@" + addr + "/d?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.config()
		if err != nil {
			t.Fatal(err)
		}
		dial := c.DialFunc
		c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if tt.far {
				conn = farConn{conn}
			}
			return conn, err
		}
		warned := ""
		watchPassword(c, func(addr string) { warned = addr })
		if _, err = pgconn.ConnectConfig(storetest.Within(t, realserver.Ready), c); err == nil {
			t.Error("the login succeeded")
		}
		if answer := <-got; (answer == "hunter2\x00") != (tt.method == 3) {
			t.Errorf("the server has got %q", answer)
		}
		if warned != tt.want {
			t.Errorf("method %d: warned of %q; want %q", tt.method, warned, tt.want)
		}
	}
}

// TestPasswordFile uses a file with passwords that others can read or write. It is refused if
// the password comes from it.
func TestPasswordFile(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".pgpass")
	if err := os.WriteFile(file, []byte("h:5432:*:*:of the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, set := range []func() string{
		func() string { t.Setenv("HOME", home); return "" },
		func() string { t.Setenv("HOME", "/nowhere"); t.Setenv("PGPASSFILE", file); return "" },
		func() string { t.Setenv("PGPASSFILE", ""); return "?passfile=" + file },
	} {
		query := set()
		for mode, want := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o602: false} {
			if err := os.Chmod(file, mode); err != nil {
				t.Fatal(err)
			}
			s, err := settingsOf("postgres://u@h/d" + query)
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "chmod 600 "+file) {
				t.Errorf("mode %o: %v", mode, err)
			}
			if err == nil {
				if c, err := s.config(); err != nil || c.Password != "of the file" {
					t.Errorf("mode %o: %v", mode, err)
				}
			}
			for _, other := range []string{"postgres://u:mine@h/d", "postgres://u@others/d"} {
				if _, err := settingsOf(other + query); err != nil {
					t.Errorf("%s, mode %o: %v", other, mode, err)
				}
			}
		}
	}
}
