package helper

import "golang.org/x/sys/unix"

// await returns when the process has been reaped. Between its end and its reaping, no
// other process or group can have its number: that is the moment to kill what it left
// behind.
func (p *process) await() {
	var err error = unix.EINTR
	for err == unix.EINTR {
		err = unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	p.mu.Lock()
	if err == nil {
		p.killGroup()
	}
	p.reaped = true
	p.mu.Unlock()
	p.end = p.wait()
}
