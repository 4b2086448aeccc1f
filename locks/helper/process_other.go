//go:build !linux

package helper

// await returns when the process has been reaped. There is no portable way to see its end
// before. So what it left behind is not killed, and a kill at that very moment could hit
// another process group that got the same number within the same microseconds.
func (p *process) await() {
	p.end = p.wait()
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
}
