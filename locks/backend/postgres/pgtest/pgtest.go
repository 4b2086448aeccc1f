// Package pgtest runs real PostgreSQL servers for tests, each with its own directory.
package pgtest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// User is the name of the superuser, who needs no password. .ci/servers has named it.
const User = "root"

// Options say what kind of server to run.
type Options struct {
	Settings []string // further lines of postgresql.conf
	TLS      *TLS     // nil: plain TCP
	Auth     []string // lines of pg_hba.conf before those that trust everybody
}

// TLS names the files of a server that speaks TLS.
type TLS struct{ CertFile, KeyFile, ClientCAFile string }

// A Server is a running server. Its methods fail the test if they cannot do what they say.
type Server struct {
	*realserver.Process
	data string
	port int

	frozen []*os.Process // the children that Pause has stopped
}

// Start starts a server in a new directory.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	s := prepare(tb)
	s.copyData()
	s.setUp(o)
	s.Start()
	return s
}

// Standby starts a hot standby that follows s.
func (s *Server) Standby(settings ...string) *Server {
	s.TB.Helper()
	standby := prepare(s.TB)
	standby.Follow(s, settings...)
	return standby
}

// Follow starts s, which has ended or has never been started, as a hot standby that follows
// another server, with that one's data.
func (s *Server) Follow(primary *Server, settings ...string) {
	s.TB.Helper()
	if err := os.RemoveAll(s.data); err != nil {
		s.TB.Fatal(err)
	}
	s.run("pg_basebackup", "--pgdata", s.data, "--write-recovery-conf", "--checkpoint", "fast",
		"--dbname", primary.URL()+"&application_name=standby")
	s.configure(settings)
	s.Start()
}

func prepare(tb testing.TB) *Server {
	tb.Helper()
	if _, err := os.Stat(filepath.Join(programs, "postgres")); err != nil {
		realserver.Missing(tb, "there is no PostgreSQL 15; Debian has it in postgresql-15")
	}
	dir := realserver.DataDir(tb)
	s := &Server{data: filepath.Join(dir, "data"), port: realserver.FreePort(tb)}
	s.Process = &realserver.Process{
		TB: tb, Path: filepath.Join(programs, "postgres"), Args: []string{"-D", s.data}, Env: environ(),
		LogFile: filepath.Join(dir, "log"), Nobody: true,
		Stopping: os.Interrupt, // SIGTERM would wait until all clients have gone
	}
	return s
}

// programs is where Debian has the programs of this release. Other releases may be
// installed, or running.
const programs = "/usr/lib/postgresql/15/bin"

func environ() []string { return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"} }

// run runs a program of the server until it ends.
func (s *Server) run(name string, args ...string) {
	s.TB.Helper()
	p := &realserver.Process{TB: s.TB, Path: filepath.Join(programs, name), Args: args, Env: s.Env, LogFile: s.LogFile, Nobody: true}
	p.Start()
	p.Wait()
}

// Copies starts the programs that copy what is written, but are no standbys: pg_receivewal, and
// one that decodes it. The server needs wal_level = logical.
func (s *Server) Copies() {
	s.TB.Helper()
	wal := s.data + "-wal"
	if err := os.Mkdir(wal, 0o700); err != nil {
		s.TB.Fatal(err)
	}
	realserver.Yield(s.TB, wal)
	s.run("pg_recvlogical", "--dbname", s.URL(), "--slot", "s", "--plugin", "test_decoding", "--create-slot")
	for name, args := range map[string][]string{
		"pg_recvlogical": {"--dbname", s.URL(), "--slot", "s", "--start", "--file", filepath.Join(wal, "decoded")},
		"pg_receivewal":  {"--dbname", s.URL(), "--directory", wal},
	} {
		p := &realserver.Process{TB: s.TB, Path: filepath.Join(programs, name), Args: args, Env: s.Env, LogFile: s.LogFile, Nobody: true, Stopping: os.Interrupt}
		p.Start()
	}
}

// copyData copies the data directory that .ci/servers has made. To make one takes ten times as
// long.
func (s *Server) copyData() {
	s.TB.Helper()
	from := realserver.Installed(s.TB, "postgres-v15", "data")
	if err := os.CopyFS(s.data, os.DirFS(from)); err != nil {
		s.TB.Fatal(err)
	}
	err := filepath.WalkDir(s.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		realserver.Yield(s.TB, path)
		if d.IsDir() {
			return os.Chmod(path, 0o700) // the server refuses others
		}
		return nil
	})
	if err != nil {
		s.TB.Fatal(err)
	}
}

func (s *Server) setUp(o Options) {
	s.TB.Helper()
	hba := append(slices.Clone(o.Auth), "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust")
	s.write("pg_hba.conf", strings.Join(hba, "\n")+"\n")
	settings := o.Settings
	if t := o.TLS; t != nil {
		for _, name := range []string{t.CertFile, t.KeyFile, t.ClientCAFile} {
			if name == "" {
				continue
			}
			realserver.Yield(s.TB, filepath.Dir(name), name)
			if err := os.Chmod(filepath.Dir(filepath.Dir(name)), 0o755); err != nil { // that of the test, which nobody else may enter
				s.TB.Fatal(err)
			}
		}
		settings = append(slices.Clone(settings), "ssl = on", "ssl_cert_file = '"+t.CertFile+"'", "ssl_key_file = '"+t.KeyFile+"'", "ssl_ca_file = '"+t.ClientCAFile+"'")
	}
	s.configure(settings)
}

// configure writes the server's settings. The server syncs as it does for users: an
// acknowledged write survives its death.
func (s *Server) configure(settings []string) {
	s.TB.Helper()
	lines := append([]string{
		"listen_addresses = '127.0.0.1'", fmt.Sprintf("port = %d", s.port), "unix_socket_directories = ''",
		"shared_buffers = 16MB", "max_connections = 1000", "max_wal_size = 32MB",
		"dynamic_shared_memory_type = mmap", // in the data directory, so that nothing is left of a server that was killed
	}, settings...)
	s.write("postgresql.auto.conf", strings.Join(lines, "\n")+"\n", os.O_APPEND)
}

func (s *Server) write(name, text string, flags ...int) {
	s.TB.Helper()
	mode := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if len(flags) > 0 {
		mode = os.O_WRONLY | os.O_CREATE | flags[0]
	}
	f, err := os.OpenFile(filepath.Join(s.data, name), mode, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		_ = f.Close()
	}
	if err != nil {
		s.TB.Fatal(err)
	}
}

// Addr returns the host and port of the server.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// URL returns the address of the server for its superuser.
func (s *Server) URL() string { return s.URLAs(User) }

// URLAs returns the address for another user, who may have a password after a colon.
func (s *Server) URLAs(user string) string { return URLOf(user, s.Addr()) }

// URLOf returns the URL of a server with these addresses, such as those of proxies.
func URLOf(user string, addrs ...string) string {
	return "postgres://" + user + "@" + strings.Join(addrs, ",") + "/postgres?sslmode=disable"
}

// Start starts the server again, with its data.
func (s *Server) Start() {
	s.TB.Helper()
	s.Process.Start()
	s.WaitReady(func() bool {
		c, err := s.connect()
		if err != nil {
			return false
		}
		return c.Close(context.Background()) == nil
	})
}

// Kill ends all processes of the server at once, as a crash of its machine does.
func (s *Server) Kill() {
	s.TB.Helper()
	s.Process.Pause() // so that it starts no further processes
	children := s.children()
	s.Process.Kill()
	for _, p := range children {
		_ = p.Kill() // an error means that it has already ended
	}
	for _, p := range children {
		for end := time.Now().Add(realserver.Ready); runs(p) && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
	}
}

// Pause freezes all processes of the server: connections stay open without answers.
func (s *Server) Pause() {
	s.TB.Helper()
	s.Process.Pause()
	s.frozen = s.children()
	for _, p := range s.frozen {
		_ = p.Signal(syscall.SIGSTOP) // an error means that it has already ended
	}
}

// Resume ends a Pause.
func (s *Server) Resume() {
	s.TB.Helper()
	for _, p := range s.frozen {
		_ = p.Signal(syscall.SIGCONT)
	}
	s.Process.Resume()
}

// children returns the processes that the server has started.
func (s *Server) children() (all []*os.Process) {
	s.TB.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", s.PID()))
	if err != nil {
		s.TB.Fatal(err)
	}
	for _, field := range strings.Fields(string(b)) {
		var pid int
		if _, err := fmt.Sscan(field, &pid); err != nil {
			s.TB.Fatal(err)
		}
		if p, err := os.FindProcess(pid); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// runs reports whether a process still runs, and so still has its shared memory. A zombie
// does not.
func runs(p *os.Process) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
	return err == nil && !strings.Contains(string(b), ") Z ") && !strings.Contains(string(b), ") X ")
}

func (s *Server) connect() (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), realserver.Ready)
	defer cancel()
	return pgconn.Connect(ctx, s.URL())
}

// Exec runs statements as the superuser, each line in its own transaction, and returns the
// rows of the last.
func (s *Server) Exec(lines ...string) (rows [][]string) {
	s.TB.Helper()
	c, err := s.connect()
	if err != nil {
		s.TB.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	for _, line := range lines {
		results, err := c.Exec(context.Background(), line).ReadAll()
		if err != nil {
			s.TB.Fatalf("%s: %v", line, err)
		}
		rows = nil
		for _, row := range results[len(results)-1].Rows {
			var texts []string
			for _, value := range row {
				texts = append(texts, string(value))
			}
			rows = append(rows, texts)
		}
	}
	return rows
}

// Until repeats a query until it returns true.
func (s *Server) Until(query string) {
	s.TB.Helper()
	for end := time.Now().Add(realserver.Ready); s.Exec(query)[0][0] != "t"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.TB.Fatalf("still not true: %s", query)
		}
	}
}

// Hold runs a statement in a transaction that stays open until end is called.
func (s *Server) Hold(statement string) (end func()) {
	s.TB.Helper()
	c, err := s.connect()
	if err == nil {
		_, err = c.Exec(context.Background(), "BEGIN; "+statement).ReadAll()
	}
	if err != nil {
		s.TB.Fatal(err)
	}
	return func() { _ = c.Close(context.Background()) }
}

// FillTablespace creates a tablespace on a small disk, which is full until free is called.
func (s *Server) FillTablespace(name string, size int) (free func()) {
	s.TB.Helper()
	dir := filepath.Join(filepath.Dir(s.data), name)
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = mount(dir, size)
	}
	if err != nil {
		realserver.Missing(s.TB, "cannot mount a small disk: "+err.Error())
	}
	s.TB.Cleanup(func() {
		if err := unmount(dir); err != nil {
			s.TB.Error(err)
		}
	})
	realserver.Yield(s.TB, dir)
	s.Exec("CREATE TABLESPACE " + name + " LOCATION '" + dir + "'")
	full := filepath.Join(dir, "full")
	_ = os.WriteFile(full, make([]byte, size), 0o600) // as much as fits
	return func() {
		s.TB.Helper()
		if err := os.Remove(full); err != nil {
			s.TB.Fatal(err)
		}
	}
}
