package gossip

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestPortOfAnother: a seat that another program has is not waited for.
func TestPortOfAnother(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Log(err) // no IPv6
			continue
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		seat := netip.MustParseAddrPort(l.Addr().String())
		if seat.Addr().IsUnspecified() {
			seat = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), seat.Port())
		}
		if got := user(seat); got != "" {
			t.Errorf("%v: %s is another program; want that it is ours", at, got)
		}
		other := exec.Command("sleep", "1000")
		other.ExtraFiles = []*os.File{f}
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
		_, _ = l.Close(), f.Close()
		_, err = handleFor(t, "gossip://"+seat.String()+"?expect=1", time.Second).Acquire(drive.Context(t), true)
		if want := fmt.Sprintf("this host's seat %v: ", seat); !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprint(", process ", other.Process.Pid)) {
			t.Errorf("%v: got %v", at, err)
		}
	}
}
