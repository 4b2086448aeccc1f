package host

import (
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Ahead is by how much the boot clock of the host's processes is ahead of ours.
func (h *Host) Ahead() time.Duration { return h.ahead }

// setClock puts the host's processes into a time namespace, on Linux 6.1 or later: before,
// the processes that Go starts would stay outside.
func (h *Host) setClock() error {
	ahead := rand.N(7*24*time.Hour) + time.Hour
	err := h.thread.do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWTIME); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		text := fmt.Sprintf("boottime %d %d", ahead/time.Second, ahead%time.Second)
		return os.WriteFile(fmt.Sprintf("/proc/%d/timens_offsets", unix.Gettid()), []byte(text), 0)
	})
	if err == nil {
		h.ahead = ahead
	}
	return err
}
