//go:build bench && linux

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A section of the report is one benchmark: the commands, and the results.
type section struct {
	name     string // of the subtest
	title    string
	commands []string
	figures  []figure
	notes    []string
}

// A figure is one measured quantity.
type figure struct {
	what   string
	unit   string
	ours   sample
	peer   sample // empty if there is none
	pairs  sample // the ratios of pairs measured together; may be empty
	target string // empty if none
	met    bool
}

// versus returns a figure that compares two samples, with a limit for the ratio of their
// medians, or 0 for no limit.
func versus(what, unit string, ours, peer sample, limit float64) figure {
	f := figure{what: what, unit: unit, ours: ours, peer: peer, pairs: ratios(ours, peer)}
	if limit > 0 {
		f.target, f.met = fmt.Sprintf("ratio ≤ %.4g", limit), f.ratio() <= limit
	}
	return f
}

// atMost returns a figure with a limit for its median, or 0 for no limit.
func atMost(what, unit string, ours sample, limit float64) figure {
	f := figure{what: what, unit: unit, ours: ours}
	if limit > 0 {
		f.target, f.met = fmt.Sprintf("≤ %.4g %s", limit, unit), ours.median() <= limit
	}
	return f
}

func (f figure) ratio() float64 { return f.ours.median() / f.peer.median() }

func (f figure) row() string {
	ratio, pairs, verdict := "", "", ""
	if len(f.peer) > 0 && f.peer.median() > 0 {
		ratio = fmt.Sprintf("%.2f", f.ratio())
	}
	if len(f.pairs) > 0 {
		pairs = fmt.Sprintf("%.2f", f.pairs.median())
	}
	if f.target != "" {
		verdict = "**no**"
		if f.met {
			verdict = "yes"
		}
	}
	return strings.Join([]string{"", f.what + ", " + f.unit, f.count(), spread(f.ours), spread(f.peer), ratio, pairs, f.target, verdict, ""}, " | ")
}

func (f figure) count() string {
	if len(f.peer) > 0 && len(f.peer) != len(f.ours) {
		return fmt.Sprintf("%d, %d", len(f.ours), len(f.peer))
	}
	return fmt.Sprint(len(f.ours))
}

// spread formats median, p95 and p99, as far as the sample allows.
func spread(s sample) string {
	switch {
	case len(s) == 0:
		return ""
	case len(s) < 20:
		return fmt.Sprintf("%.4g", s.median())
	}
	return fmt.Sprintf("%.4g / %.4g / %.4g", s.median(), s.quantile(0.95), s.quantile(0.99))
}

func (s section) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", s.title)
	for _, c := range s.commands {
		fmt.Fprintf(&b, "    %s\n", c)
	}
	b.WriteString("\n| | n | leaderrun | peer | ratio of medians | median of pairs' ratios | target | met |\n|---|---|---|---|---|---|---|---|\n")
	for _, f := range s.figures {
		b.WriteString(strings.TrimSpace(f.row()) + "\n")
	}
	for _, n := range s.notes {
		b.WriteString("\n" + n + "\n")
	}
	return b.String()
}

// write writes the report.
func (b *bench) write(t *testing.T, path string) {
	var w strings.Builder
	forced := ""
	if b.disturbed {
		forced = "; this was busy, and BENCH_FORCE was set"
	}
	fmt.Fprintf(&w, "# Benchmark results\n\nWritten by `make bench`; see the package documentation. "+
		"Times are median / p95 / p99. The two sides of a ratio ran in turn, A B A B …, in the same run; a target is judged by the ratio of medians.\n\n")
	fmt.Fprintf(&w, "%v- Used of the processors' time by others: %s%s\n- leaderrun: %s\n- Peers: %s; %s\n",
		b.conditions, strings.Join(b.others, ", "), forced, firstLine(t, b.core, "version"), firstLine(t, "flock", "--version"), firstLine(t, b.etcdctl, "version"))
	fmt.Fprintf(&w, "\n## Summary\n\n%s", b.summary(t))
	for _, s := range b.sections {
		w.WriteString("\n" + s.text())
	}
	if err := os.WriteFile(path, []byte(w.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// summary is the section that README.md repeats.
func (b *bench) summary(t *testing.T) string {
	machine := "a quiet machine"
	if b.disturbed {
		machine = "a busy machine"
	}
	return fmt.Sprintf("With `file`, wrapping `true` takes %.1f × as long as with `flock`. With `etcd` it takes %.1f ×\n"+
		"as long as with `etcdctl lock`, and with `consul` %.1f × as long as with `consul lock`. A hand-over\n"+
		"on etcd with 50 waiters takes %.1f × as long if jobs do nothing, and %.1f × with jobs of 200 ms.\n"+
		"Measured on %s, of commit %s, on %s.\n",
		b.ratio(t, "file", "wall"), b.ratio(t, "fsync", "wall"), b.ratio(t, "consul", "wall"),
		b.ratio(t, "handover", "50 waiters"), b.ratio(t, "handover", "50 waiters, jobs of 200 ms"), b.conditions.Date, b.conditions.Commit, machine)
}

// ratio returns that of a figure.
func (b *bench) ratio(t *testing.T, section, what string) float64 {
	t.Helper()
	for _, s := range b.sections {
		for _, f := range s.figures {
			if s.name == section && f.what == what {
				return f.ratio()
			}
		}
	}
	t.Fatalf("section %s has no figure %q", section, what)
	return 0
}

func firstLine(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
