package socket

import (
	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// outside reports whether a client is no process of ours. One from a pid namespace that
// is not to be seen from here has no id.
func outside(client int) bool {
	peer, err := unix.GetsockoptUcred(client, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return err != nil || peer.Pid == 0 || !proc.Descends(int(peer.Pid))
}
