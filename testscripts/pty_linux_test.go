package testscripts

import (
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/terminal/terminaltest"
)

// attach gives a program a terminal of 80 columns as its standard error and controlling
// terminal. What the terminal shows is copied to a file; finish waits for the rest of it.
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
	master, slave, err := terminaltest.Open()
	ts.Check(err)
	return master, slave
}

// detach makes a program run without the terminal on which tests are started.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
