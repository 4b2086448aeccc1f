package metrics

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A writer writes the file after a change, but no more often than writePause allows, when the
// lease has ended, and at the end. Without a file it does nothing.
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

	until clock.Instant // the file says that we lead, which is true until then; Never: it needs no change
}

func newWriter(s *state, from prometheus.Gatherer, log *slog.Logger) *writer {
	w := &writer{state: s, from: from, log: log, dirty: make(chan struct{}, 1), over: make(chan struct{}), done: make(chan struct{}), until: clock.Never}
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
		ended := clock.NewPause(w.state.clock, w.until)
		select {
		case <-w.dirty:
			w.write()
		case <-ended.C:
			if w.until = w.state.leadsUntil(); w.until == clock.Never { // no renewal has moved it
				w.write()
			}
		case <-w.over:
			ended.Stop()
			w.last()
			return
		}
		ended.Stop()
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
	w.used, w.until = true, w.state.leadsUntil()
	err := w.file.write(w.from, w.state.open.Lock, w.state.hasLed())
	if err != nil && !w.failed {
		w.log.Warn("the file of metrics was not written", "err", err.Error())
	}
	w.failed = err != nil
}
