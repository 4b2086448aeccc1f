package pgtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A Pooler is a PgBouncer, which lends its connections to a server.
type Pooler struct {
	*realserver.Process
	config string // without the server
	file   string
	port   int
}

// StartPooler starts a pooler in front of a server. It logs in as user there, whoever asks, and
// lends connections for as long as mode says: "session", "transaction" or "statement".
func StartPooler(tb testing.TB, server *Server, user, mode string) *Pooler {
	tb.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		realserver.Missing(tb, "there is no pgbouncer; Debian has it in pgbouncer")
	}
	dir, port := realserver.DataDir(tb), realserver.FreePort(tb)
	p := &Pooler{file: filepath.Join(dir, "ini"), port: port}
	p.config = fmt.Sprintf("[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = %s\n"+
		"default_pool_size = 2\n[databases]\npostgres = user=%s", port, mode, user)
	p.Process = &realserver.Process{TB: tb, Path: path, Args: []string{p.file}, Env: []string{"PATH=/usr/bin:/bin"}, LogFile: filepath.Join(dir, "log"), Nobody: true}
	p.write(server)
	p.Start()
	p.WaitReady(func() bool {
		c, err := net.Dial("tcp", p.Addr())
		return err == nil && c.Close() == nil
	})
	return p
}

// Addr returns the address of the pooler, "127.0.0.1:port".
func (p *Pooler) Addr() string { return fmt.Sprintf("127.0.0.1:%d", p.port) }

// Switch makes the pooler use another server. What is lent is given back first.
func (p *Pooler) Switch(to *Server) {
	p.TB.Helper()
	p.write(to)
	if err := syscall.Kill(p.PID(), syscall.SIGHUP); err != nil {
		p.TB.Fatal(err)
	}
}

func (p *Pooler) write(server *Server) {
	p.TB.Helper()
	host, port, _ := strings.Cut(server.Addr(), ":")
	if err := os.WriteFile(p.file, fmt.Appendf(nil, "%s host=%s port=%s\n", p.config, host, port), 0o644); err != nil {
		p.TB.Fatal(err)
	}
}
