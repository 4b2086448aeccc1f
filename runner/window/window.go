// Package window tells which window of a schedule a moment belongs to, for jobs
// that are to run once per window in a whole fleet.
//
// A window is known by the time at which it is scheduled to begin, its slot, and
// not by the time at which somebody comes to start a job. So two hosts mean the
// same slot although one is late, and a host that comes too late for one slot
// does not take the next one away.
//
// # Two kinds of time
//
// A day, a week and a cron expression that names its hours are kept in wall time:
// the slot is "29 March, 02:30", whatever that is in UTC, and hosts in different
// zones share it. Where clocks go forward over 02:30, the moment after the gap
// belongs to that slot. Where they go back, time stands still until the hour that
// is repeated is over, so that a second 02:30 is no second slot.
//
// A duration, an hour and a cron expression for every hour are kept in real time:
// where clocks go back, each of the two hours has its slots, and hosts share a
// slot only where their zones' minutes (or hours, for "*/6") agree.
//
// In both, the slot never goes back as real time goes on.
//
// # Early hosts
//
// A slot also has those who come up to two minutes before it begins, or, if the
// slot before is nearer than six minutes, a third of the way to that: a host whose
// clock is slow means the slot that is about to begin.
package window

import "time"

// maxEarly is the most that a slot begins before its time.
const maxEarly = 2 * time.Minute

// A Window is a schedule. Its zero value is none; see Parse.
type Window struct {
	spec     string
	every    int64 // seconds from slot to slot, from the Unix epoch on; 0: see times
	times    times
	floating bool // slots are in wall time
	zone     *time.Location
	layout   string // of labels
}

// A Slot is one turn of a schedule.
type Slot struct {
	Key   int64  // equal on all hosts, and higher for later slots: seconds since 1970, of real or of wall time
	Label string // when it is scheduled to begin, for people
}

// String is the schedule in a spelling that is one for all that write the same
// thing, without the zone. It is at most 128 bytes long.
func (w Window) String() string { return w.spec }

// Slot returns the slot to which a run belongs that is started now.
func (w Window) Slot(now time.Time) Slot {
	key := w.begun(now)
	for next := w.begun(now.Add(maxEarly)); next > key; {
		before := w.before(next)
		early := min(maxEarly, time.Duration(next-before)*time.Second/3)
		if w.begun(now.Add(early)) >= next {
			key = next
			break
		}
		next = before
	}
	return Slot{key, w.label(key)}
}

// Ends returns the first second in which another slot than now's has its turn.
func (w Window) Ends(now time.Time) time.Time {
	key := w.Slot(now).Key
	in, out := now.Unix(), now.Unix()+1
	for w.Slot(time.Unix(out, 0)).Key == key {
		in, out = out, out+2*(out-now.Unix())
	}
	for out-in > 1 {
		if mid := in + (out-in)/2; w.Slot(time.Unix(mid, 0)).Key == key {
			in = mid
		} else {
			out = mid
		}
	}
	return time.Unix(out, 0)
}

// begun returns the key of the last slot that has begun at a moment. It never
// goes back as t goes on.
func (w Window) begun(t time.Time) int64 {
	switch {
	case w.every > 0:
		return floor(t.Unix(), w.every)
	case w.floating:
		return w.times.last(w.wall(t))
	}
	return w.lastInstant(t)
}

// before returns the key of the slot before the one with the given key.
func (w Window) before(key int64) int64 {
	switch {
	case w.every > 0:
		return key - w.every
	case w.floating:
		return w.times.last(key - 1)
	}
	return w.lastInstant(time.Unix(key-1, 0))
}

// wall returns the wall time at a moment, in seconds as if it were UTC; but where
// clocks went back, the furthest they had been until they are there again.
func (w Window) wall(t time.Time) int64 {
	t = t.In(w.zone)
	_, offset := t.Zone()
	wall := t.Unix() + int64(offset)
	if start, _ := t.ZoneBounds(); !start.IsZero() {
		_, before := start.Add(-time.Second).Zone()
		wall = max(wall, start.Unix()+int64(before)-1)
	}
	return wall
}

// lastInstant returns the last moment, at t or before, at which the clocks of the
// zone show one of the times. It looks through t's stretch without a change of the
// clocks, then through the one before, and so on.
func (w Window) lastInstant(t time.Time) int64 {
	for {
		t = t.In(w.zone)
		_, offset := t.Zone()
		last := w.times.last(t.Unix()+int64(offset)) - int64(offset)
		start, _ := t.ZoneBounds()
		if start.IsZero() || last >= start.Unix() {
			return last
		}
		t = start.Add(-time.Second)
	}
}

func (w Window) label(key int64) string {
	if w.floating {
		return time.Unix(key, 0).UTC().Format(w.layout)
	}
	return time.Unix(key, 0).In(w.zone).Format(w.layout)
}

// floor rounds down to a multiple of n, also below 0.
func floor(t, n int64) int64 { return t - ((t%n)+n)%n }
