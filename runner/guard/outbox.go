package guard

import "time"

// An outbox is the queue of frames for leaderrun. flush and put never wait for leaderrun,
// because the job must be killed in time even if leaderrun is frozen and reads nothing.
type outbox struct {
	conn    line
	partial []byte  // the rest of a frame that was written in part
	waiting []frame // the frames after that
}

// put adds a frame. Of the deadlines and of the suspensions that wait, only the last is kept.
func (o *outbox) put(f frame) {
	for i, w := range o.waiting {
		if w.kind == f.kind && (f.kind == kindDeadline || f.kind == kindSuspended) {
			o.waiting[i] = f
			return
		}
	}
	o.waiting = append(o.waiting, f)
}

// flush writes as much as there is room for. It reports whether nothing is left to write. If
// leaderrun has died, nothing is.
func (o *outbox) flush() (empty bool) {
	for len(o.partial) > 0 || len(o.waiting) > 0 {
		if len(o.partial) == 0 {
			o.partial, o.waiting = o.waiting[0].encode(), o.waiting[1:]
		}
		n, err := o.conn.offer(o.partial)
		if err != nil {
			o.partial, o.waiting = nil, nil
			return true
		}
		if o.partial = o.partial[n:]; len(o.partial) > 0 {
			return false
		}
	}
	return true
}

// drain waits until all is written.
func (o *outbox) drain() {
	for !o.flush() {
		time.Sleep(longPause)
	}
}
