package view

import (
	"fmt"
	"math"
	"time"
)

// age returns a duration as text, roughly: "12s", "3m", "5h", "12d".
func age(d time.Duration) string {
	switch {
	case d < -aheadLimit:
		return "-" + age(-max(d, -math.MaxInt64)) // the minimum has no opposite
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// localTime returns a time as text, in the local time zone.
func localTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// moment returns a time as text, and how long ago that was.
func (s Style) moment(t time.Time) string {
	ago := age(s.Now.Sub(t)) + " ago"
	if d := t.Sub(s.Now); d > aheadLimit {
		ago = "in " + age(d)
	}
	return localTime(t) + " (" + ago + ")"
}
