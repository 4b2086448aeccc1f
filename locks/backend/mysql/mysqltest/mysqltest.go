// Package mysqltest runs real servers of MariaDB for tests, each with its own directory. This
// is a package of its own because faults and testscripts start them, too.
package mysqltest

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// User is the name of a user who may do everything and needs no password, and Database that
// of a database. .ci/servers has created both.
const (
	User     = "root"
	Database = "locks"
)

// A Server is a running server. Its methods fail the test if they cannot do what they say.
type Server struct {
	*realserver.Process
	addr string
	db   *sql.DB
}

// Start starts a server in a new directory, with options in addition to ours.
func Start(tb testing.TB, options ...string) *Server {
	tb.Helper()
	s := prepare(tb, realserver.FreePort(tb), options)
	s.Start()
	return s
}

// StartTLS starts a server that speaks TLS, with these files.
func StartTLS(tb testing.TB, cert, key, clientCA string) *Server {
	tb.Helper()
	return Start(tb, "--ssl-cert="+cert, "--ssl-key="+key, "--ssl-ca="+clientCA)
}

//go:embed wsrep_sst_copy
var copyScript []byte

// StartGalera starts a cluster of n servers.
func StartGalera(tb testing.TB, n int) (all []*Server) {
	tb.Helper()
	bin := tb.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "wsrep_sst_copy"), copyScript, 0o700); err != nil {
		tb.Fatal(err)
	}
	first := ""
	for range n {
		port := realserver.FreePort(tb)
		s := prepare(tb, realserver.FreePort(tb), []string{
			"--wsrep-on=ON", "--wsrep-provider=" + filepath.Join(programs(tb), "lib", "libgalera_smm.so"),
			"--wsrep-cluster-address=gcomm://" + first, "--wsrep-node-address=127.0.0.1", "--wsrep-sst-method=copy",
			fmt.Sprintf("--wsrep-provider-options=base_port=%d;gmcast.listen_addr=tcp://127.0.0.1:%[1]d;ist.recv_addr=127.0.0.1:%[2]d;gcache.size=8M", port, realserver.FreePort(tb)),
			"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
		})
		s.Env = append(s.Env, "PATH="+bin+":"+os.Getenv("PATH"))
		s.Start()
		s.Until("SELECT variable_value = 'ON' FROM information_schema.global_status WHERE variable_name = 'wsrep_ready'")
		first, all = fmt.Sprintf("127.0.0.1:%d", port), append(all, s)
	}
	return all
}

// programs is where .ci/servers puts MariaDB.
func programs(tb testing.TB) string {
	tb.Helper()
	return realserver.Installed(tb, "mariadb-v10.11")
}

func prepare(tb testing.TB, port int, options []string) *Server {
	tb.Helper()
	from, dir := programs(tb), realserver.DataDir(tb)
	data := filepath.Join(dir, "data")
	if err := os.CopyFS(data, os.DirFS(filepath.Join(from, "data"))); err != nil {
		tb.Fatal(err)
	}
	s := &Server{addr: fmt.Sprintf("127.0.0.1:%d", port)}
	s.Process = &realserver.Process{
		TB: tb, Path: filepath.Join(from, "mariadbd"), LogFile: filepath.Join(dir, "log"),
		Env: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "LD_LIBRARY_PATH=" + filepath.Join(from, "lib")},
	}
	share := filepath.Join(from, "mysql")
	s.Args = append([]string{
		"--no-defaults", "--datadir=" + data, "--lc-messages-dir=" + share, "--character-sets-dir=" + filepath.Join(share, "charsets"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", port), "--socket=" + filepath.Join(dir, "socket"), "--pid-file=" + filepath.Join(dir, "pid"), "--tmpdir=" + dir,
		"--innodb-log-file-size=4M", "--innodb-data-file-path=ibdata1:2M:autoextend", "--innodb-autoextend-increment=1",
		"--innodb-temp-data-file-path=ibtmp1:2M:autoextend", "--innodb-buffer-pool-size=8M", "--aria-log-file-size=8M",
		"--skip-name-resolve", "--max-connections=1000",
	}, options...)
	if os.Geteuid() == 0 {
		s.Args = append(s.Args, "--user=root") // who can enter the directory of the programs; without the option the server refuses
	}
	s.open()
	return s
}

// open makes the connections of the test's own.
func (s *Server) open() {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.DBName = "tcp", s.addr, User, Database
	c.MultiStatements, c.Params, c.Logger = true, map[string]string{"autocommit": "1"}, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		s.TB.Fatal(err)
	}
	s.db = sql.OpenDB(connector)
	s.db.SetMaxIdleConns(0) // those to a server that was killed are of no use
	s.TB.Cleanup(func() { _ = s.db.Close() })
}

// Addr returns the host and port of the server.
func (s *Server) Addr() string { return s.addr }

// URL returns the address of the server's database for User.
func (s *Server) URL() string { return URLOf(User, s.addr) }

// URLOf returns the URL of servers with these addresses, such as those of proxies. The user
// may have a password after a colon.
func URLOf(user string, addrs ...string) string {
	return "mysql://" + user + "@" + strings.Join(addrs, ",") + "/" + Database
}

// At returns the URL of a database of the server, through addr.
func At(addr, database string) *url.URL {
	return &url.URL{Scheme: "mysql", User: url.User(User), Host: addr, Path: "/" + database}
}

// Start starts the server again, with its data.
func (s *Server) Start() {
	s.TB.Helper()
	s.Process.Start()
	s.WaitReady(func() bool { return s.db.PingContext(context.Background()) == nil })
}

// Exec runs statements as User, all on one connection, and returns the rows of the last.
func (s *Server) Exec(statements ...string) (rows [][]string) {
	s.TB.Helper()
	rows, err := s.exec(statements...)
	if err != nil {
		s.TB.Fatal(err)
	}
	return rows
}

func (s *Server) exec(statements ...string) (rows [][]string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), realserver.Ready)
	defer cancel()
	c, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, statement := range statements {
		if rows, err = read(ctx, c, statement); err != nil {
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
	}
	return rows, nil
}

func read(ctx context.Context, c *sql.Conn, statement string) (rows [][]string, err error) {
	r, err := c.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	columns, _ := r.Columns() // r is open
	for r.Next() {
		row, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		if err := r.Scan(to...); err != nil {
			return nil, err
		}
		var texts []string
		for _, value := range row {
			texts = append(texts, value.String)
		}
		rows = append(rows, texts)
	}
	return rows, r.Err()
}

// Until repeats a query until it returns 1. A node of a cluster ends connections while it joins.
func (s *Server) Until(query string) {
	s.TB.Helper()
	for end := time.Now().Add(realserver.Ready); ; time.Sleep(5 * time.Millisecond) {
		rows, err := s.exec(query)
		if len(rows) == 1 && rows[0][0] == "1" {
			return
		}
		if time.Now().After(end) {
			s.TB.Fatalf("still not true: %s: %v", query, err)
		}
	}
}

// Hold runs a statement in a transaction that stays open until end is called.
func (s *Server) Hold(statement string) (end func()) {
	s.TB.Helper()
	tx, err := s.db.Begin()
	if err == nil {
		_, err = tx.Exec(statement)
	}
	if err != nil {
		s.TB.Fatal(err)
	}
	return func() { _ = tx.Rollback() }
}
