package etcdtest

import (
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// StartProxy starts etcd's grpc-proxy of a version, in front of a server without TLS, and
// returns its address.
func StartProxy(tb testing.TB, version, server string) (addr string) {
	tb.Helper()
	dir := tb.TempDir()
	addr = fmt.Sprintf("127.0.0.1:%d", realserver.FreePort(tb))
	p := &realserver.Process{
		TB: tb, Path: Binary(tb, version, "etcd"), Args: []string{"grpc-proxy", "start", "--endpoints", server, "--listen-addr", addr,
			"--advertise-client-url", addr}, // the proxy must reach this itself within 5 s; the default is a port without a server
		LogFile: filepath.Join(dir, "log"), Env: []string{"HOME=" + dir},
	}
	p.Start()
	p.WaitReady(func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return addr
}
