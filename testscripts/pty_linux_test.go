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
	master, slave, err := openPTY()
	ts.Check(err)
	return master, slave
}

// openPTY opens a new terminal. A read of the master can be ended by Close, as
// long as nobody calls its Fd.
func openPTY() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	return master, slave, err
}
