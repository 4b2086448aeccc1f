// Package conditions says under which conditions results were obtained: of which commit,
// when, on which machine, and how busy that machine was.
package conditions

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A Run is a run whose results are kept.
type Run struct {
	Commit        string // of the source, and whether that was changed since
	Date          string // of its beginning, in UTC
	Machine       string
	Before, After string // load averages over 1, 5 and 15 minutes
}

// Begin describes a run that begins now, of the source in the present directory.
func Begin() Run {
	kib, _ := strconv.ParseFloat(found("/proc/meminfo", `MemTotal:\s*(\d+)`), 64)
	return Run{
		Commit: commit(),
		Date:   time.Now().UTC().Format(time.DateOnly),
		// Of the kernel only the version: additions by a distributor or a host would reveal
		// where this ran.
		Machine: fmt.Sprintf("%s, %d cores, %.0f GiB; Linux %s; %s", found("/proc/cpuinfo", `model name\s*: (.*)`),
			runtime.NumCPU(), kib/(1<<20), found("/proc/sys/kernel/osrelease", `^(\d+(?:\.\d+)*)`), runtime.Version()),
		Before: load(),
	}
}

// End notes how busy the machine is at the end.
func (r *Run) End() { r.After = load() }

// String returns a list in Markdown.
func (r Run) String() string {
	return fmt.Sprintf("- Commit: %s, on %s\n- Machine: %s\n- Load average: %s before, %s after\n", r.Commit, r.Date, r.Machine, r.Before, r.After)
}

func load() string { return found("/proc/loadavg", `^(\S+ \S+ \S+)`) }

// found returns the first group of a pattern's match in a file.
func found(path, pattern string) string {
	text, _ := os.ReadFile(path)
	m := regexp.MustCompile(pattern).FindSubmatch(text)
	if m == nil {
		return "unknown"
	}
	return string(m[1])
}

// commit returns the commit that is checked out. Changes count even in files that git does
// not know, because Go compiles them, but not in documents and results, which runs write.
func commit() string {
	id, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return fmt.Sprintf("unknown (%v)", err)
	}
	if changes, err := git("status", "--porcelain", "--", ":/", ":(top,exclude,glob)**/*.md", ":(top,exclude)faults/parts"); err != nil || changes != "" {
		id += " with uncommitted changes"
	}
	return id
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
