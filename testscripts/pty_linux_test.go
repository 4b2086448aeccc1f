package testscripts

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// attach gives a program a terminal of 80 columns as its standard error and
// controlling terminal. What it shows is copied to a file; finish waits for
// the rest of that.
func attach(ts *testscript.TestScript, cmd *exec.Cmd, file string) (finish func()) {
	master, slave := openTerminal(ts)
	ts.Check(unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	shown, err := os.Create(file)
	ts.Check(err)
	cmd.Stderr = slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	copied := make(chan struct{})
	go func() {
		_, _ = io.Copy(shown, master) // ends with EIO when nobody has the terminal open
		close(copied)
	}()
	return func() {
		_ = slave.Close()
		<-copied
		_ = master.Close()
		_ = shown.Close()
	}
}

func openTerminal(ts *testscript.TestScript) (master, slave *os.File) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	ts.Check(err)
	ts.Check(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	ts.Check(err)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	ts.Check(err)
	return master, slave
}
