package window

import "time"

// A set is a set of small numbers.
type set uint64

func (s set) has(n int) bool { return s>>n&1 != 0 }

// times are the times that a cron expression matches, on a calendar without zones.
type times struct {
	minute, hour, dayOfMonth, month, dayOfWeek set

	// either says that a day must match only one of dayOfMonth and dayOfWeek, as in
	// crontab(5) if neither begins with "*".
	either bool
}

const day = 24 * 60 * 60

// years is the number of years after which the calendar repeats, days of the week included.
const years = 400

// last returns the last time at t or before, in seconds since 1970. If there is none in
// 400 years, and so none at all, it returns t less about 400 years.
func (s times) last(t int64) int64 {
	if today := floor(t, day); s.onDay(time.Unix(today, 0).UTC()) {
		if minute, ok := s.lastMinute(int(t-today) / 60); ok {
			return today + int64(minute)*60
		}
	}
	date := time.Unix(floor(t, day)-day, 0).UTC()
	for end := date.AddDate(-years, 0, -1); date.After(end); date = date.AddDate(0, 0, -1) {
		if !s.month.has(int(date.Month())) {
			date = date.AddDate(0, 0, 1-date.Day()) // to its first day: the next step leaves the month
			continue
		}
		if !s.onDay(date) {
			continue
		}
		if minute, ok := s.lastMinute(day/60 - 1); ok {
			return date.Unix() + int64(minute)*60
		}
	}
	return date.Unix()
}

// occurs reports whether there is any time that matches.
func (s times) occurs() bool {
	last := s.last(0)
	return s.onDay(time.Unix(last, 0).UTC())
}

func (s times) onDay(date time.Time) bool {
	if !s.month.has(int(date.Month())) {
		return false
	}
	inMonth, inWeek := s.dayOfMonth.has(date.Day()), s.dayOfWeek.has(int(date.Weekday()))
	if s.either {
		return inMonth || inWeek
	}
	return inMonth && inWeek
}

// lastMinute returns the last minute of the day that matches, at limit or before.
func (s times) lastMinute(limit int) (int, bool) {
	for m := limit; m >= 0; m-- {
		if s.hour.has(m/60) && s.minute.has(m%60) {
			return m, true
		}
	}
	return 0, false
}
