package socket

import (
	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// Any user may connect: the server tells strangers apart.
const (
	dirMode     = 0o711
	socketMode  = 0o666
	hasAbstract = true
)

// outside reports whether a client does not descend from us. A client in a pid namespace
// that we cannot see has the id 0.
func outside(client int) bool {
	peer, err := unix.GetsockoptUcred(client, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return err != nil || peer.Pid == 0 || !proc.Descends(int(peer.Pid))
}
