package host

import (
	"fmt"
	"os/exec"
	"sync"
	"syscall"
)

// Hide makes /proc show the command and its descendants only the processes that they may
// inspect: not those of other users, nor those that are not dumpable, such as programs
// with the set-user-ID bit. The command still runs as root, but without the capability
// to inspect every process.
func (c *Cmd) Hide() { c.hidden = true }

// hide mounts such a /proc, and then becomes the command. By hidepid=2 the group root
// would see all of it.
const hide = `mount -t proc -o hidepid=ptraceable proc /proc && exec setpriv --inh-caps -sys_ptrace --bounding-set -sys_ptrace "$@"`

// hides says why nothing can be hidden here. Hiding needs root, Linux 5.8 and setpriv
// (util-linux).
var hides = sync.OnceValue(func() error {
	c := exec.Command("/bin/sh", "-c", hide, "sh", "sh", "-c", "! test -e /proc/1")
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})
