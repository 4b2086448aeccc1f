package window

import (
	"slices"
	"strconv"
	"strings"
)

// A field is one field of a cron expression, as in crontab(5).
type field struct {
	name     string
	min, max int
	words    []string // for min, min+1 …
}

var fields = [5]field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// parse reads the five fields of the expression spec. It reports whether the field for
// hours has every hour, or every n-th one.
func (s *times) parse(spec string, texts []string) (everyHour bool, err error) {
	var sets [5]set
	for i, f := range fields {
		if sets[i], err = f.parse(spec, texts[i]); err != nil {
			return false, err
		}
	}
	if sets[4].has(7) { // 7 is another number for Sunday
		sets[4] = sets[4]&^(1<<7) | 1
	}
	*s = times{sets[0], sets[1], sets[2], sets[3], sets[4], texts[2][0] != '*' && texts[4][0] != '*'}
	return texts[1][0] == '*' || sets[1] == 1<<24-1, nil
}

// parse reads a list of "*", numbers, names and ranges, which may have steps.
func (f field) parse(spec, text string) (set, error) {
	var all set
	for part := range strings.SplitSeq(text, ",") {
		from, to, step, what := f.span(part)
		if what != "" {
			return 0, wrong(spec, "has %s as its %s: %s", quote(part), f.name, what)
		}
		for n := from; n <= to; n += step {
			all |= 1 << n
		}
	}
	return all, nil
}

// span reads one part of a list. If the part is invalid, what says why.
func (f field) span(part string) (from, to, step int, what string) {
	span, stepText, stepped := strings.Cut(part, "/")
	first, last, ranged := strings.Cut(span, "-")
	from, okFirst := f.number(first)
	to, okLast := from, okFirst
	if ranged {
		to, okLast = f.number(last)
	}
	step = 1
	if span == "*" {
		from, to, okFirst, okLast, ranged = f.min, f.max, true, true, true
	}
	switch {
	case !okFirst || !okLast:
		what = "want " + f.allowed()
	case from > to:
		what = "the range runs backwards"
	case stepped && !ranged:
		what = "a step needs a range before it, such as " + strconv.Itoa(from) + "-" + strconv.Itoa(f.max) + "/" + stepText
	case stepped:
		var ok bool
		if step, ok = digits(stepText); !ok || step < 1 || step > f.max {
			what = "a step must be a number from 1 to " + strconv.Itoa(f.max)
		}
	}
	return from, to, step, what
}

func (f field) number(text string) (int, bool) {
	if i := slices.Index(f.words, text); i >= 0 {
		return f.min + i, true
	}
	n, ok := digits(text)
	return n, ok && f.min <= n && n <= f.max
}

func (f field) allowed() string {
	s := "* or " + strconv.Itoa(f.min) + " to " + strconv.Itoa(f.max)
	if len(f.words) > 0 {
		s += ", " + f.words[0] + " to " + f.words[len(f.words)-1]
	}
	return s + ", in lists (1,2), ranges (1-2) or steps (*/2)"
}

func digits(text string) (int, bool) {
	if len(text) < 1 || len(text) > 2 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}
