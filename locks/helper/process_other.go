//go:build !linux

package helper

// await returns when the process has been reaped. There is no portable way to
// see its end before; so what it left behind is not killed, and a kill that
// comes just now could meet another process group with the same number, if
// one began in the same microseconds.
func (p *process) await() {
	p.end = p.child.wait()
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
}
