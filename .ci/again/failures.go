package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// A failure is a test that has failed. Without a test it is a package that has, or in which
// something happened after which nothing is repeated.
type failure struct {
	test, pkg string
	assertion string // the last that failed
	why       string // nothing is repeated
}

var (
	failedTest    = regexp.MustCompile(`^--- FAIL: (\S+) `)
	failedPackage = regexp.MustCompile(`^FAIL[ \t]+([^ \t\n]+)`)
	endOfPackage  = regexp.MustCompile(`^(ok|\?|FAIL)[ \t]+[^ \t]`)
	assertion     = regexp.MustCompile(`^\s+(\S+\.go:\d+: .*)`)
	beside        = regexp.MustCompile(`to repeat: |: the end of the log of `) // what a test says besides
)

// unexcused are the lines after which nothing of a package is repeated. Programs that tests run
// may have printed some of them.
var unexcused = map[string]*regexp.Regexp{
	"a failure that nothing excuses": regexp.MustCompile(regexp.QuoteMeta(trial.FinalMark)),
	"a crash or a timeout":           regexp.MustCompile(`^(panic|fatal error):|goroutine \d+ .*\[`),
	"a data race":                    regexp.MustCompile(`WARNING: DATA RACE|race detected during`),
	"a drawn schedule":               regexp.MustCompile(`violations, seed|seed \d+(:|, power)|SEED=\d+ go test`),
}

// failures finds what has failed in the output of go test, whose last line says how it ended.
func failures(log string) (all []failure, err error) {
	log = strings.TrimSuffix(log, "\n")
	if !strings.HasSuffix(log, "\ngo test: 0") && !strings.HasSuffix(log, "\ngo test: 1") {
		return nil, errors.New("go test did not run to its end")
	}
	var found []failure // in this package
	var why string
	for line := range strings.SplitSeq(log, "\n") {
		for reason, pattern := range unexcused {
			if pattern.MatchString(line) {
				why = reason
			}
		}
		if m := failedTest.FindStringSubmatch(line); m != nil {
			found = append(found, failure{test: m[1]})
		}
		if m := assertion.FindStringSubmatch(line); m != nil && len(found) > 0 && !beside.MatchString(line) {
			found[len(found)-1].assertion = m[1]
		}
		if !endOfPackage.MatchString(line) {
			continue
		}
		if m := failedPackage.FindStringSubmatch(line); m != nil {
			if len(found) == 0 || why != "" {
				found = []failure{{why: why}}
			}
			for _, f := range found {
				f.pkg = m[1]
				all = append(all, f)
			}
		}
		found, why = nil, ""
	}
	return all, nil
}
