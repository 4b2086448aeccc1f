package socket

import (
	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// outside reports whether a client does not descend from us. A client in a pid namespace
// that we cannot see has the id 0.
func outside(client int) bool {
	peer, err := unix.GetsockoptUcred(client, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return err != nil || peer.Pid == 0 || !proc.Descends(int(peer.Pid))
}
