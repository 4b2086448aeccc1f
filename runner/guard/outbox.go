//go:build unix

package guard

import "time"

// An outbox has what the guard says, on its way. A frozen leaderrun reads nothing, and the
// job must be killed in time even so: nothing here waits for leaderrun.
type outbox struct {
	conn    line
	begun   []byte  // the rest of a frame of which some was written
	waiting []frame // after that
}

// put adds a frame to what is to be flushed. Of deadlines and of stops that are not sent yet,
// only the last counts.
func (o *outbox) put(f frame) {
	for i, w := range o.waiting {
		if w.kind == f.kind && (f.kind == kindDeadline || f.kind == kindSuspended) {
			o.waiting[i] = f
			return
		}
	}
	o.waiting = append(o.waiting, f)
}

// flush writes what there is room for, and reports whether nothing is left. To a
// leaderrun that has died nothing is.
func (o *outbox) flush() (empty bool) {
	for len(o.begun) > 0 || len(o.waiting) > 0 {
		if len(o.begun) == 0 {
			o.begun, o.waiting = o.waiting[0].encode(), o.waiting[1:]
		}
		n, err := o.conn.offer(o.begun)
		if err != nil {
			o.begun, o.waiting = nil, nil
			return true
		}
		if o.begun = o.begun[n:]; len(o.begun) > 0 {
			return false
		}
	}
	return true
}

// drain returns when all is written.
func (o *outbox) drain() {
	for !o.flush() {
		time.Sleep(slowly)
	}
}
