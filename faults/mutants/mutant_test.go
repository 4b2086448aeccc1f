package mutants

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A mutant is a defect.
type mutant struct {
	name   string // of its file, without the suffix
	file   string // absolute
	what   string // for people
	checks []check
}

// A check is a command that must find a defect.
type check struct {
	run  string         // for a shell, at the root of the tree
	says *regexp.Regexp // an oracle's finding
}

const suffix = ".patch"

// readMutants reads the mutants in this directory, by name.
func readMutants() (all []mutant, err error) {
	files, err := filepath.Glob("*" + suffix)
	if err == nil && len(files) == 0 {
		err = errors.New("there are no patches")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		m, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		m.name = strings.TrimSuffix(f, suffix)
		if m.file, err = filepath.Abs(f); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, err
}

// parse reads what is before the diff.
func parse(text string) (m mutant, err error) {
	head, _, found := strings.Cut(text, "\ndiff --git ")
	if !found {
		return m, errors.New("there is no diff")
	}
	what, checks, _ := strings.Cut(head, "\n\n")
	if m.what = strings.TrimSpace(what); m.what == "" {
		return m, errors.New("it does not say what the defect is")
	}
	var run string
	for line := range strings.Lines(checks) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		switch {
		case key == "":
		case key == "run" && run == "" && value != "":
			run = value
		case key == "says" && run != "" && value != "":
			says, err := regexp.Compile(value)
			if err != nil {
				return m, err
			}
			m.checks, run = append(m.checks, check{run, says}), ""
		default:
			return m, fmt.Errorf("%q is not expected", line)
		}
	}
	if len(m.checks) == 0 || run != "" {
		return m, errors.New("it has no command, or one without an expected message")
	}
	return m, nil
}

func TestParse(t *testing.T) {
	t.Parallel()
	m, err := parse("What it\nis.\n\nrun: a: b\nsays: c|d\nrun: e\nsays: f\n\ndiff --git a/x b/x\nrun: no\n")
	if err != nil || m.what != "What it\nis." || len(m.checks) != 2 || m.checks[0].run != "a: b" || m.checks[1].says.String() != "f" {
		t.Errorf("got %+v, %v", m, err)
	}
	for name, text := range map[string]string{
		"no diff":                "What.\n\nrun: a\nsays: b\n",
		"not what it is":         "\n\nrun: a\nsays: b\n\ndiff --git a b\n",
		"no command":             "What.\n\ndiff --git a b\n",
		"a command without says": "What.\n\nrun: a\nsays: b\nrun: c\n\ndiff --git a b\n",
		"says without a command": "What.\n\nsays: b\n\ndiff --git a b\n",
		"no regular expression":  "What.\n\nrun: a\nsays: (\n\ndiff --git a b\n",
		"another line":           "What.\n\nrun: a\nsays: b\nnote: c\n\ndiff --git a b\n",
	} {
		if m, err := parse(text); err == nil {
			t.Errorf("%s: got %+v, want an error", name, m)
		}
	}
}
