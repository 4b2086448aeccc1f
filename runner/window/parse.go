package window

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// maxSpec is the greatest length of a schedule, in bytes.
const maxSpec = 128

// maxEvery is the longest duration.
const maxEvery = 366 * day * time.Second

const (
	minutes = "2006-01-02 15:04"
	zoned   = minutes + " -0700"
)

// words are the schedules that have a name, as cron expressions. Their labels
// need not have a time.
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

// Parse reads a schedule: a duration ("10m", "1h"; a bare number is seconds),
// whose slots count from the Unix epoch; hour, day, or week (which begins on
// Monday); a cron expression of five fields, or one of @hourly, @daily and the
// like. "CRON_TZ=Europe/Berlin " before it says whose clocks count; without that
// those of the zone cronTZ do, or the local ones if that is "". The errors are
// *locks.UsageError.
func Parse(spec, cronTZ string) (Window, error) {
	if len(spec) > maxSpec {
		return Window{}, wrong(spec, "is longer than %d bytes", maxSpec)
	}
	text, zone, err := cutZone(spec, cronTZ)
	if err != nil {
		return Window{}, err
	}
	w := Window{spec: strings.Join(strings.Fields(strings.ToLower(text)), " "), zone: zone}
	switch {
	case w.spec == "":
		return Window{}, wrong(spec, "says no time")
	case w.spec == "hour":
		err = w.setEvery("1h")
	case strings.Contains("0123456789+-.", w.spec[:1]) && !strings.Contains(w.spec, " "):
		err = w.setEvery(w.spec)
	default:
		err = w.setTimes()
	}
	if err != nil {
		return Window{}, err
	}
	return w, nil
}

// cutZone takes the zone off a schedule.
func cutZone(spec, cronTZ string) (rest string, zone *time.Location, err error) {
	rest = strings.TrimSpace(spec)
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if tail, ok := strings.CutPrefix(rest, prefix); ok {
			name, after := tail, ""
			if i := strings.IndexAny(tail, " \t"); i >= 0 {
				name, after = tail[:i], tail[i:]
			}
			if name == "" {
				return "", nil, wrong(spec, "names no zone after %s", prefix)
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

func (w *Window) setEvery(text string) error {
	spec := text
	if _, err := strconv.ParseUint(text, 10, 32); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return unknown(spec)
	case d < time.Second || d > maxEvery || d%time.Second != 0:
		return wrong(spec, "is no duration of whole seconds from 1s to %dh", int(maxEvery.Hours()))
	}
	w.every = int64(d / time.Second)
	w.spec = d.String()
	w.layout = zoned
	if w.every%60 != 0 {
		w.layout = "2006-01-02 15:04:05 -0700"
	}
	return nil
}

func (w *Window) setTimes() error {
	text := w.spec
	for _, known := range words {
		if w.spec == known.name {
			text, w.layout = known.cron, known.layout
		}
	}
	fields := strings.Fields(text)
	switch {
	case len(fields) == 1:
		return unknown(w.spec)
	case len(fields) != 5:
		return wrong(w.spec, "has %d fields; a cron expression has 5: minute, hour, day of month, month, day of week", len(fields))
	}
	everyHour, err := w.times.parse(w.spec, fields)
	if err != nil {
		return err
	}
	if !w.times.occurs() {
		return wrong(w.spec, "never comes: no month in it has such a day")
	}
	w.floating = !everyHour
	w.spec = text
	switch {
	case w.layout == "" && everyHour:
		w.layout = zoned
	case w.layout == "":
		w.layout = minutes
	}
	return nil
}

func unknown(spec string) error {
	known := []string{"hour"}
	for _, w := range words {
		known = append(known, w.name)
	}
	err := wrong(spec, "is no duration (10m, 1h), no cron expression of 5 fields, and no known word")
	err.Near, err.Have = locks.Nearest(spec, known), known
	return err
}

func wrong(spec, format string, args ...any) *locks.UsageError {
	return &locks.UsageError{What: "window " + quote(spec) + " " + fmt.Sprintf(format, args...)}
}

func quote(s string) string { return strconv.Quote(locks.Abbreviate(s)) }
