// Package durations parses durations, as users write them. This is a package of its own
// because options and parameters of URLs must agree on them.
package durations

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Parse parses a number of seconds, like 10, 1.5 or 1e-1, or a sum of numbers with units,
// like 100ms, 2m30s or 1d12h. It reports whether text is such a duration. A duration may be
// negative. The units are those of [time.ParseDuration] and d, which is 24 hours. What is
// less than a nanosecond is a nanosecond, because 0 often means that there is no limit.
//
// timeout(1) also takes hexadecimal numbers, infinity, and numbers that are too great. They
// are not durations here.
func Parse(text string) (d time.Duration, ok bool) {
	rest, negative := strings.CutPrefix(text, "-")
	if !negative {
		rest = strings.TrimPrefix(rest, "+")
	}
	sum := 0.0 // in nanoseconds; it is exact up to 104 days
	for bare := true; bare || rest != ""; bare = false {
		var number, unit string
		number, rest = cutNumber(rest)
		unit, rest = cutUnit(rest)
		if unit == "" && bare && rest == "" {
			unit = "s"
		}
		n, err := strconv.ParseFloat(number, 64)
		size, known := sizeOf(unit)
		if err != nil || !known {
			return 0, false
		}
		sum += max(math.Round(n*float64(size)), least(number))
	}
	if negative {
		sum = -sum
	}
	return time.Duration(sum), math.Abs(sum) < math.MaxInt64
}

// cutNumber splits text after a number, which may have an exponent.
func cutNumber(text string) (number, rest string) {
	i := skip(text, 0, "0123456789.")
	if exponent := skip(text, i, "eE"); exponent == i+1 {
		sign := exponent
		if strings.HasPrefix(text[sign:], "-") || strings.HasPrefix(text[sign:], "+") {
			sign++
		}
		if end := skip(text, sign, "0123456789"); end > sign {
			i = end
		}
	}
	return text[:i], text[i:]
}

// cutUnit splits text before the next number.
func cutUnit(text string) (unit, rest string) {
	if i := strings.IndexAny(text, "0123456789."); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// skip returns the first index from i on at which text has none of some characters.
func skip(text string, i int, some string) int {
	return len(text) - len(strings.TrimLeft(text[i:], some))
}

// least returns 0 for a number that is 0, and 1 for others, however small they are.
func least(number string) float64 {
	digits := number[:skip(number, 0, "0123456789.")]
	if strings.ContainsAny(digits, "123456789") {
		return 1
	}
	return 0
}

func sizeOf(unit string) (time.Duration, bool) {
	switch unit {
	case "ns":
		return time.Nanosecond, true
	case "us", "µs", "μs": // the micro sign and the Greek letter, as in package time
		return time.Microsecond, true
	case "ms":
		return time.Millisecond, true
	case "s":
		return time.Second, true
	case "m":
		return time.Minute, true
	case "h":
		return time.Hour, true
	case "d":
		return 24 * time.Hour, true
	}
	return 0, false
}
