package host

import (
	"fmt"
	"os/exec"
	"sync"
	"syscall"
)

// Hide has /proc show the command, and what descends from it, only the processes that
// it may look into: not those of other users, nor those that are not dumpable, as
// programs with the set-user-ID bit are. It runs as root still, but without the
// capability that would let it look into any.
func (c *Cmd) Hide() { c.hidden = true }

// hide mounts such a /proc, and then becomes the command. By hidepid=2 the group root
// would see all of it.
const hide = `mount -t proc -o hidepid=ptraceable proc /proc && exec setpriv --inh-caps -sys_ptrace --bounding-set -sys_ptrace "$@"`

// hides says why nothing can be hidden here, which takes root, Linux 5.8 and setpriv
// (util-linux).
var hides = sync.OnceValue(func() error {
	c := exec.Command("/bin/sh", "-c", hide, "sh", "sh", "-c", "! test -e /proc/1")
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})
