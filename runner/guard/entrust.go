package guard

import (
	"os"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// Entrust implements [proc.Starter]. It waits until the guard's process is started, and not until
// the guard has read what we send: a guard that is still starting reads it later.
func (cl *Client) Entrust(d proc.OnDeath) error {
	if <-cl.ready; cl.err != nil {
		return cl.err
	}
	cl.entrusted = true // even if only a part of it was sent
	if err := cl.sendFiles(d); err != nil {
		return err
	}
	return cl.conn.send(entrusted(d))
}

// takeBack is called before the line to a guard is closed. The guard would take the end of the
// line for our death, and release a lock that is perhaps still ours. A dead guard releases
// nothing.
func (cl *Client) takeBack() {
	if cl.entrusted {
		cl.child.kill()
	}
}

func entrusted(d proc.OnDeath) frame {
	return frame{kindEntrust, appendTexts(appendText(nil, string(d.Message)), d.Remove)}
}

// entrusted returns the message that releases, and the files to remove.
func (f frame) entrusted() (message []byte, remove []string, err error) {
	b := &body{rest: f.body}
	message, remove = []byte(b.text()), b.texts()
	if b.short || len(b.rest) > 0 {
		return nil, nil, errFrame
	}
	return message, remove, nil
}

// sendFiles sends the files that the guard needs if we die.
func (cl *Client) sendFiles(d proc.OnDeath) error {
	var which byte
	var fds []int
	if f := d.Hold; f != nil {
		which, fds = which|filesHold, append(fds, descriptor(f))
	}
	if f := d.Release; f != nil {
		which, fds = which|filesRelease, append(fds, descriptor(f))
	}
	if which == 0 {
		return nil
	}
	return cl.conn.sendFiles(frame{kindFiles, []byte{which}}, fds...)
}

// descriptor returns the descriptor of a file. File.Fd would make it blocking.
func descriptor(f *os.File) int {
	n := -1
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { n = int(fd) })
	}
	return n
}

// closeFiles closes the files that leaderrun has sent.
func (g *guard) closeFiles() {
	for _, f := range []*os.File{g.hold, g.release} {
		if f != nil {
			_ = f.Close()
		}
	}
	g.hold, g.release = nil, nil
}

// takeOn notes what the guard does if leaderrun dies before it has a job.
func (g *guard) takeOn(f frame) {
	message, remove, err := f.entrusted()
	if err == nil && g.job == 0 {
		g.message, g.remove, g.entrusted = message, remove, true
	}
}

// orphanedEarly reports whether leaderrun has died before it sent a start order, and has entrusted
// us with the lock. Nothing of a job is left then, because there was none: leaderrun starts what
// comes next under the lock with this guard, and an order that it had sent would have come before
// the end of the line. After a start that fails, run returns earlier, and releases nothing.
func (g *guard) orphanedEarly() bool { return g.entrusted && g.orphaned && g.job == 0 }
