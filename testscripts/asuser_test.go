//go:build unix

package testscripts

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// asUser is the program "asuser UID PROGRAM [ARG...]": root runs a program as another user.
func asUser() {
	if err := becomeUser(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "asuser:", err)
		os.Exit(125)
	}
}

func becomeUser(user string, args []string) error {
	uid, err := strconv.Atoi(user)
	if err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(uid); err != nil {
		return err
	}
	if err := syscall.Setuid(uid); err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}
