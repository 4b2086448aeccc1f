package helper

// begun is a helper program that was started early.
type begun struct {
	scheme  string
	path    string
	process *process
}

// Begin starts the helper of a scheme early, because starting takes some milliseconds.
// The next Open of the scheme uses it. If the helper cannot be started, Open reports why.
func (p *Programs) Begin(scheme string) {
	path, err := p.Find(scheme)
	if err != nil {
		return
	}
	if proc, err := startProcess(path, prefix+scheme, environment(), nil); err == nil {
		p.begun.Store(&begun{scheme, path, proc})
	}
}

// End ends a helper that Begin started and no Open used, and waits until it is gone.
func (p *Programs) End() {
	if b := p.begun.Swap(nil); b != nil {
		b.process.discard()
	}
}

// start returns the helper that Begin started, or starts one.
func (p *Programs) start(path, scheme string) (*process, error) {
	if b := p.begun.Swap(nil); b != nil {
		if b.scheme == scheme && b.path == path {
			return b.process, nil
		}
		b.process.discard()
	}
	return startProcess(path, prefix+scheme, environment(), nil)
}
