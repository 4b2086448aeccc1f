// Package window finds the window of a schedule to which a moment belongs, for jobs that
// run once per window in a whole fleet.
//
// A window is known by the time at which it is scheduled to begin, and not by the time at
// which a host starts a job. So two hosts mean the same window although one is late, and
// a host that is too late for one window does not use up the next one.
//
// # Two kinds of time
//
// A day, a week and a cron expression that names its hours are in wall time: the window
// is "29 March, 02:30", whatever that is in UTC, and hosts in different zones share it.
// If the clocks go forward over 02:30, the moment after the gap belongs to that window.
// If they go back, time stands still until the repeated hour is over, so a second 02:30
// is not a second window.
//
// A duration, an hour and a cron expression for every hour are in real time: when the
// clocks go back, each of the two hours has its own windows. Hosts share a window only if
// the minutes of their zones (or the hours, for "*/6") agree.
//
// In both, the window never goes back as real time goes on.
//
// # Early hosts
//
// A window also includes hosts that come up to two minutes before it begins, because a
// host whose clock is slow means the window that is about to begin. If the previous
// window began less than six minutes earlier, a third of the time between them counts
// instead of two minutes.
package window

import "time"

// maxEarly is the longest time before its beginning that a window includes.
const maxEarly = 2 * time.Minute

// A Schedule is a sequence of windows. [Parse] makes one; the zero Schedule is not valid.
type Schedule struct {
	spec     string
	every    int64 // seconds from window to window, since the Unix epoch; 0: see times
	times    times
	floating bool // windows are in wall time
	zone     *time.Location
	layout   string // of labels
}

// A Window is one of a schedule.
type Window struct {
	Key   int64  // equal on all hosts, and higher for later windows: seconds since 1970, of real or of wall time
	Label string // when it is scheduled to begin, for people
	// Begins is the same moment in seconds since 1970, of real time, by the zone of this host.
	Begins int64
}

// String returns the schedule without its zone, in at most 128 bytes. All spellings of
// one schedule have the same String.
func (s Schedule) String() string { return s.spec }

// Window returns the window of a run that starts now.
func (s Schedule) Window(now time.Time) Window {
	key := s.begun(now)
	for next := s.begun(now.Add(maxEarly)); next > key; {
		before := s.before(next)
		early := min(maxEarly, time.Duration(next-before)*time.Second/3)
		if s.begun(now.Add(early)) >= next {
			key = next
			break
		}
		next = before
	}
	return Window{key, s.label(key), s.begins(key)}
}

// Ends returns the first second that belongs to a later window than now.
func (s Schedule) Ends(now time.Time) time.Time {
	key := s.Window(now).Key
	in, out := now.Unix(), now.Unix()+1
	for s.Window(time.Unix(out, 0)).Key == key {
		in, out = out, out+2*(out-now.Unix())
	}
	for out-in > 1 {
		if mid := in + (out-in)/2; s.Window(time.Unix(mid, 0)).Key == key {
			in = mid
		} else {
			out = mid
		}
	}
	return time.Unix(out, 0)
}

// begun returns the key of the last window that has begun at t. It never goes back as t
// goes on.
func (s Schedule) begun(t time.Time) int64 {
	switch {
	case s.every > 0:
		return floor(t.Unix(), s.every)
	case s.floating:
		return s.times.last(s.wall(t))
	}
	return s.lastInstant(t)
}

// before returns the key of the window before the one with the given key.
func (s Schedule) before(key int64) int64 {
	switch {
	case s.every > 0:
		return key - s.every
	case s.floating:
		return s.times.last(key - 1)
	}
	return s.lastInstant(time.Unix(key-1, 0))
}

// wall returns the wall time at t, in seconds as if it were UTC. After the clocks went
// back, it returns the latest time that they had shown, until they show it again.
func (s Schedule) wall(t time.Time) int64 {
	t = t.In(s.zone)
	_, offset := t.Zone()
	wall := t.Unix() + int64(offset)
	if start, _ := t.ZoneBounds(); !start.IsZero() {
		_, before := start.Add(-time.Second).Zone()
		wall = max(wall, start.Unix()+int64(before)-1)
	}
	return wall
}

// lastInstant returns the last moment, at t or before, at which the clocks of the zone
// show one of the times. It searches the period without a change of the clocks that
// contains t, then the period before that, and so on.
func (s Schedule) lastInstant(t time.Time) int64 {
	for {
		t = t.In(s.zone)
		_, offset := t.Zone()
		last := s.times.last(t.Unix()+int64(offset)) - int64(offset)
		start, _ := t.ZoneBounds()
		if start.IsZero() || last >= start.Unix() {
			return last
		}
		t = start.Add(-time.Second)
	}
}

// begins returns the moment at which a window is scheduled to begin.
func (s Schedule) begins(key int64) int64 {
	if !s.floating {
		return key
	}
	wall := time.Unix(key, 0).UTC()
	return time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, s.zone).Unix()
}

// Label returns the label of a window with a key, of a schedule that [Schedule.String] returned, or
// "" if the schedule is invalid.
func Label(spec string, key int64) string {
	s, err := Parse(spec, "")
	if err != nil {
		return ""
	}
	for _, known := range words {
		if s.spec == known.cron && known.layout != "" {
			s.layout = known.layout
		}
	}
	return s.label(key)
}

func (s Schedule) label(key int64) string {
	if s.floating {
		return time.Unix(key, 0).UTC().Format(s.layout)
	}
	return time.Unix(key, 0).In(s.zone).Format(s.layout)
}

// floor rounds t down to a multiple of n, even if t is negative.
func floor(t, n int64) int64 { return t - ((t%n)+n)%n }
