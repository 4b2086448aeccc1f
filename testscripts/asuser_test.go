package testscripts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// asUser is the program "asuser UID[:GID] PROGRAM [ARG...]": it runs a program as another
// user if we are root, and otherwise as ourselves. Without a GID it is the UID.
func asUser() {
	if err := becomeUser(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "asuser:", err)
		os.Exit(125)
	}
}

func becomeUser(user string, args []string) error {
	user, group, found := strings.Cut(user, ":")
	if !found {
		group = user
	}
	uid, err1 := strconv.Atoi(user)
	gid, err2 := strconv.Atoi(group)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if err := syscall.Setgroups(nil); err != nil {
			return err
		}
		if err := syscall.Setgid(gid); err != nil {
			return err
		}
		if err := syscall.Setuid(uid); err != nil {
			return err
		}
	}
	return syscall.Exec(path, args, os.Environ())
}
