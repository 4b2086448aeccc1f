package host

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

// serverName has two addresses for the processes of a host.
const serverName = "server.test"

// addAlias adds another address of the first server, with the same port, and the name of both.
func (h *Host) addAlias() error {
	h.tb.Helper()
	first := netip.MustParseAddrPort(h.Addr(h.servers[0]))
	alias := h.network.alias
	h.alias = faultproxy.NewAt(h.tb, alias.AsSlice(), int(first.Port()), first.String()).Addr()
	file := filepath.Join(h.tb.TempDir(), "hosts")
	text := fmt.Sprintf("127.0.0.1 localhost\n%s %s\n%s %s\n", alias, serverName, first.Addr(), serverName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	err := h.thread.do(func() error { return mountOnly(file, "/etc/hosts") })
	if err == nil {
		h.named = fmt.Sprintf("%s:%d", serverName, first.Port())
	}
	return err
}

// mountOnly mounts a file over another, for the calling thread and what it starts.
func mountOnly(file, over string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return os.NewSyscallError("mount", err)
	}
	return os.NewSyscallError("mount", unix.Mount(file, over, "", unix.MS_BIND, ""))
}
