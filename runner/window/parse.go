package window

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/durations"
)

// maxSpec is the maximum length of a schedule, in bytes.
const maxSpec = 128

// maxEvery is the longest duration.
const maxEvery = 366 * day * time.Second

const (
	minutes = "2006-01-02 15:04"
	zoned   = minutes + " -0700"
)

// words are the schedules that have a name, as cron expressions. Labels of some have no
// time of day.
var words = []struct{ name, cron, layout string }{
	{"day", "0 0 * * *", "2006-01-02"},
	{"week", "0 0 * * 1", "week of 2006-01-02"},
	{"@yearly", "0 0 1 1 *", ""},
	{"@annually", "0 0 1 1 *", ""},
	{"@monthly", "0 0 1 * *", ""},
	{"@weekly", "0 0 * * 0", ""},
	{"@daily", "0 0 * * *", ""},
	{"@midnight", "0 0 * * *", ""},
	{"@hourly", "0 * * * *", ""},
}

// We parse cron expressions ourselves, because we need little, and not what the libraries offer:
// the last time before now, on a calendar without zones, so that a change of the clocks is one
// rule in one place. robfig/cron (last released in 2020) has no last time, skips what the clocks
// leave out and refuses 7 for Sunday; gronx compiles regular expressions at every start and looks
// for the last time in a zone.

// Parse reads a schedule. It is one of
//
//   - a duration, as package durations reads it ("10m", "1h", or a number of seconds): its
//     windows count from the Unix epoch, so those of "1d" begin at midnight UTC
//   - hour, day or week, which begins on Monday
//   - a cron expression of five fields, or a word such as @hourly or @daily
//
// A prefix such as "CRON_TZ=Europe/Berlin " sets the time zone. Without one, the zone is
// cronTZ, or the local zone if cronTZ is "", which TZ must name such that Go can read it. An error is a *locks.UsageError.
func Parse(spec, cronTZ string) (Schedule, error) {
	if len(spec) > maxSpec {
		return Schedule{}, wrong(spec, "is longer than %d bytes", maxSpec)
	}
	text, zone, err := cutZone(spec, cronTZ)
	if err != nil {
		return Schedule{}, err
	}
	s := Schedule{spec: strings.Join(strings.Fields(strings.ToLower(text)), " "), zone: zone}
	switch {
	case s.spec == "":
		return Schedule{}, wrong(spec, "is empty")
	case s.spec == "hour":
		err = s.setEvery("1h")
	case strings.Contains("0123456789+-.", s.spec[:1]) && !strings.Contains(s.spec, " "):
		err = s.setEvery(s.spec)
	default:
		err = s.setTimes()
	}
	if err == nil && s.every == 0 && zone == time.Local {
		err = checkLocal(os.Getenv("TZ"))
	}
	if err != nil {
		return Schedule{}, err
	}
	return s, nil
}

// checkLocal returns an error if TZ is set to what Go cannot read: it would take UTC, and cron
// something else.
func checkLocal(tz string) error {
	name := strings.TrimPrefix(tz, ":")
	if !filepath.IsAbs(name) {
		_, err := load(name)
		return err
	}
	text, err := os.ReadFile(name)
	if err == nil {
		_, err = time.LoadLocationFromTZData(name, text)
	}
	if err != nil {
		return locks.Usagef("TZ: %s is not a file of a time zone", quote(name))
	}
	return nil
}

// cutZone removes the zone from a schedule, and returns it.
func cutZone(spec, cronTZ string) (rest string, zone *time.Location, err error) {
	rest = strings.TrimSpace(spec)
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if tail, ok := strings.CutPrefix(rest, prefix); ok {
			name, after := tail, ""
			if i := strings.IndexAny(tail, " \t"); i >= 0 {
				name, after = tail[:i], tail[i:]
			}
			if name == "" {
				return "", nil, wrong(spec, "has no zone after %s", prefix)
			}
			zone, err = load(name)
			return after, zone, err
		}
	}
	if cronTZ == "" {
		return rest, time.Local, nil
	}
	zone, err = load(cronTZ)
	return rest, zone, err
}

func load(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, locks.Usagef("unknown time zone %s: this machine's zone database (tzdata) does not have it", quote(name))
	}
	return zone, nil
}

func (s *Schedule) setEvery(text string) error {
	d, ok := durations.Parse(text)
	switch {
	case !ok:
		return unknown(text)
	case d < time.Second || d > maxEvery || d%time.Second != 0:
		return wrong(text, "must be whole seconds, from 1s to %dh", int(maxEvery.Hours()))
	}
	s.every = int64(d / time.Second)
	s.spec = d.String()
	s.layout = zoned
	if s.every%60 != 0 {
		s.layout = "2006-01-02 15:04:05 -0700"
	}
	return nil
}

func (s *Schedule) setTimes() error {
	text := s.spec
	for _, known := range words {
		if s.spec == known.name {
			text, s.layout = known.cron, known.layout
		}
	}
	fields := strings.Fields(text)
	switch {
	case len(fields) == 1:
		return unknown(s.spec)
	case len(fields) != 5:
		return wrong(s.spec, "has %d fields; a cron expression has 5: minute, hour, day of month, month, day of week", len(fields))
	}
	everyHour, err := s.times.parse(s.spec, fields)
	if err != nil {
		return err
	}
	if !s.times.occurs() {
		return wrong(s.spec, "never occurs: no month in it has such a day")
	}
	s.floating = !everyHour
	s.spec = text
	switch {
	case s.layout == "" && everyHour:
		s.layout = zoned
	case s.layout == "":
		s.layout = minutes
	}
	return nil
}

func unknown(spec string) error {
	known := []string{"hour"}
	for _, w := range words {
		known = append(known, w.name)
	}
	err := wrong(spec, "is not a duration (10m, 1h), a cron expression of 5 fields, or a known word")
	err.Near, err.Have = locks.Nearest(spec, known), known
	return err
}

func wrong(spec, format string, args ...any) *locks.UsageError {
	return &locks.UsageError{What: "window " + quote(spec) + " " + fmt.Sprintf(format, args...)}
}

func quote(s string) string { return strconv.Quote(locks.Abbreviate(s)) }
