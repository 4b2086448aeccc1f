package helper

// begun is a helper program that was started before its time.
type begun struct {
	scheme  string
	path    string
	process *process
}

// Begin starts the helper of a scheme while its task is still being worked out:
// to start takes a helper some milliseconds. The next Open of the scheme uses
// it. Why a helper cannot be started is for Open to say.
func (p *Programs) Begin(scheme string) {
	path, err := p.Find(scheme)
	if err != nil {
		return
	}
	if proc, err := startProcess(path, prefix+scheme, environment(), nil); err == nil {
		p.begun.Store(&begun{scheme, path, proc})
	}
}

// End ends a helper that was begun and not used. It waits until it is gone.
func (p *Programs) End() {
	if b := p.begun.Swap(nil); b != nil {
		b.process.discard()
	}
}

// start returns the helper that was begun, or starts one.
func (p *Programs) start(path, scheme string) (*process, error) {
	if b := p.begun.Swap(nil); b != nil {
		if b.scheme == scheme && b.path == path {
			return b.process, nil
		}
		b.process.discard()
	}
	return startProcess(path, prefix+scheme, environment(), nil)
}
