package testscripts

import (
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdSystemd is the command
//
//	systemd [-abstract] FILE
//
// It makes $NOTIFY_SOCKET, as systemd does, and writes the messages of services into the
// file: one line per message, with " | " between its variables.
func cmdSystemd(ts *testscript.TestScript, neg bool, args []string) {
	abstract := len(args) > 0 && args[0] == "-abstract"
	if abstract {
		args = args[1:]
	}
	usage(ts, !neg && len(args) == 1, "systemd [-abstract] FILE")
	dir, err := os.MkdirTemp("", "") // a socket's path is short
	ts.Check(err)
	ts.Defer(func() { os.RemoveAll(dir) })
	address := filepath.Join(dir, "notify")
	if abstract {
		address = "@" + address
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	ts.Check(err)
	out, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4097) // systemd drops longer messages than 4096
		for {
			n, err := conn.Read(buf)
			if err != nil { // closed
				return
			}
			_, _ = out.WriteString(strings.ReplaceAll(string(buf[:n]), "\n", " | ") + "\n")
		}
	}()
	ts.Defer(func() {
		conn.Close()
		<-done
		out.Close()
	})
	ts.Setenv("NOTIFY_SOCKET", address)
}
