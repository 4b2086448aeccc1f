package metrics

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A writer writes the file after a change, but no more often than writePause allows, and at
// the end. Without a file it does nothing.
type writer struct {
	file  *textfile // nil: there is no file
	state *state
	from  prometheus.Gatherer
	log   *slog.Logger

	dirty  chan struct{} // something has changed
	over   chan struct{} // closed at the end
	done   chan struct{}
	failed bool // the last write failed
	used   bool // there has been a change
}

func newWriter(s *state, from prometheus.Gatherer, log *slog.Logger) *writer {
	w := &writer{state: s, from: from, log: log, dirty: make(chan struct{}, 1), over: make(chan struct{}), done: make(chan struct{})}
	if s.open.File == "" {
		return w
	}
	var err error
	if w.file, err = openTextfile(s.open.File); err != nil {
		log.Warn("the metrics file is invalid and will be replaced", "path", s.open.File, "err", err.Error())
	}
	go w.run()
	return w
}

// changed has the file written soon. It does not block.
func (w *writer) changed() {
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

// close writes the file for the last time.
func (w *writer) close() {
	close(w.over)
	if w.file != nil {
		<-w.done
	}
}

func (w *writer) run() {
	defer close(w.done)
	for {
		select {
		case <-w.dirty:
			w.write()
		case <-w.over:
			w.last()
			return
		}
		select {
		case <-time.After(writePause):
		case <-w.over:
			w.last()
			return
		}
	}
}

// last writes the file at the end, unless the run only found the lock held, and so has
// nothing to report.
func (w *writer) last() {
	select {
	case <-w.dirty:
		w.used = true
	default:
	}
	if w.used || !w.file.existed {
		w.write()
	}
}

// write writes the file. It logs the first of several failures in a row.
func (w *writer) write() {
	w.used = true
	err := w.file.write(w.from, w.state.open.Lock, w.state.hasLed())
	if err != nil && !w.failed {
		w.log.Warn("the file of metrics was not written", "err", err.Error())
	}
	w.failed = err != nil
}
