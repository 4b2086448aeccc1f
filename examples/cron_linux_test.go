package examples

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/window"
)

// A cronLine is a job of a crontab(5).
type cronLine struct {
	schedule, command, stdin string
}

var (
	cronSetting = regexp.MustCompile(`^\s*(\w+)\s*=\s*(.*?)\s*$`)
	cronJob     = regexp.MustCompile(`^\s*((?:\S+\s+){5})(.*)$`)
)

// parseCrontab reads a crontab as cron does.
func parseCrontab(t *testing.T, text string) (settings []string, jobs []cronLine) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if m := cronSetting.FindStringSubmatch(line); m != nil {
			settings = append(settings, m[1]+"="+m[2])
			continue
		}
		m := cronJob.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("what is %q?", line)
		}
		command, stdin := splitPercent(m[2])
		jobs = append(jobs, cronLine{strings.TrimSpace(m[1]), command, stdin})
	}
	return settings, jobs
}

// splitPercent applies cron's rule: what follows the first % is standard input, in which
// each further % ends a line; \% is a %.
func splitPercent(text string) (command, stdin string) {
	const percent = "\x00"
	text = strings.ReplaceAll(text, `\%`, percent)
	command, stdin, _ = strings.Cut(text, "%")
	stdin = strings.ReplaceAll(stdin, "%", "\n")
	return strings.ReplaceAll(command, percent, "%"), strings.ReplaceAll(stdin, percent, "%")
}

func TestPercent(t *testing.T) {
	t.Parallel()
	command, stdin := splitPercent(`date +\%F%one%100\%`)
	if command != "date +%F" || stdin != "one\n100%" {
		t.Errorf("got %q, %q", command, stdin)
	}
}

// A cronHost is a host of a fleet, with cron's minimal environment.
type cronHost struct {
	home     string
	settings []string
}

// run runs a line as cron does.
func (h cronHost) run(t *testing.T, l cronLine) *process {
	t.Helper()
	c := exec.Command("/bin/sh", "-c", l.command)
	c.Dir, c.Stdin = h.home, strings.NewReader(l.stdin)
	c.Env = append([]string{"SHELL=/bin/sh", "LOGNAME=fleet", "HOME=" + h.home}, h.settings...)
	return start(t, c)
}

// A cronFleet is two hosts with the crontab and the config file of the example.
type cronFleet struct {
	hosts [2]cronHost
	bin   string // programs that stand in for the jobs
	jobs  []cronLine
	begun time.Time
}

func newCronFleet(t *testing.T) *cronFleet {
	t.Helper()
	server := startEtcd(t)
	f := &cronFleet{bin: t.TempDir(), begun: time.Now().UTC()}
	text := read(t, "cron/crontab")
	for _, r := range [][2]string{
		{"PATH=/usr/local/bin:", "PATH=" + f.bin + ":" + bin(t) + ":"},
		{"--splay 10m", "--splay 100ms"},
		{"LEADERRUN_CONFIG=/etc/leaderrun/", "LEADERRUN_CONFIG="},
	} {
		if !strings.Contains(text, r[0]) {
			t.Fatalf("the crontab does not contain %s", r[0])
		}
		text = strings.Replace(text, r[0], r[1], 1)
	}
	var settings []string
	settings, f.jobs = parseCrontab(t, text)
	for i := range f.hosts {
		f.hosts[i] = cronHost{home: t.TempDir(), settings: settings}
		file := filepath.Join(f.hosts[i].home, "config.yaml")
		write(t, file, server.here(read(t, "cron/config.yaml")), 0o600)
	}
	return f
}

// line returns the line that contains a text.
func (f *cronFleet) line(t *testing.T, text string) cronLine {
	t.Helper()
	for _, l := range f.jobs {
		if strings.Contains(l.command, text) {
			return l
		}
	}
	t.Fatalf("no line has %q", text)
	return cronLine{}
}

// everywhere runs a line on all hosts at once, and returns the processes when they have
// ended.
func (f *cronFleet) everywhere(t *testing.T, l cronLine) (all []*process) {
	t.Helper()
	for _, h := range f.hosts {
		all = append(all, h.run(t, l))
	}
	for _, p := range all {
		p.status()
	}
	return all
}

// ran checks what a job has recorded, one line per run. If a day has begun meanwhile, it
// may have its own run.
func (f *cronFleet) ran(t *testing.T, job string, want ...string) {
	t.Helper()
	text := read(t, filepath.Join(f.bin, job+".ran"))
	got := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if now := time.Now().UTC(); now.YearDay() != f.begun.YearDay() && len(got) > len(want) {
		got = got[:len(want)]
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", job, got, want)
	}
}

func TestCrontab(t *testing.T) {
	t.Parallel()
	f := newCronFleet(t)
	for _, l := range f.jobs {
		if _, err := window.Parse(l.schedule, "UTC"); err != nil {
			t.Errorf("%s: %v", l.schedule, err)
		}
	}
	record := func(name string) string { return `echo "$*" >>"` + filepath.Join(f.bin, name) + `.ran"` }

	t.Run("once a day", func(t *testing.T) {
		t.Parallel()
		program(t, f.bin, "backup", record("backup")+"\nmkdir "+filepath.Join(f.bin, "tried"))
		write(t, filepath.Join(f.bin, "tried/before"), "", 0o600) // the first run fails
		l := f.line(t, "--once-per day --splay")
		first := f.everywhere(t, l)
		if a, b := first[0].status(), first[1].status(); a != 1 || b != 1 {
			t.Errorf("a job that fails: %d and %d, want 1 on each host", a, b)
		}
		program(t, f.bin, "backup", record("backup"))
		for range 2 {
			for _, p := range f.everywhere(t, l) {
				p.exits(0)
				p.silent()
			}
		}
		f.ran(t, "backup", "", "", "") // two that failed, and one that succeeded
	})
	t.Run("never two", func(t *testing.T) {
		t.Parallel()
		end := filepath.Join(f.bin, "end")
		program(t, f.bin, "sync-mirror", record("sync-mirror")+"\nuntil [ -e "+end+" ]; do sleep 0.1; done")
		l := f.line(t, "-n -E 0")
		holder := f.hosts[0].run(t, l)
		eventually(t, "the job runs", func() bool { return read(t, filepath.Join(f.bin, "sync-mirror.ran")) != "" })
		other := f.hosts[1].run(t, l)
		other.exits(0)
		other.silent()
		write(t, end, "", 0o600)
		holder.exits(0)
		holder.silent()
		f.ran(t, "sync-mirror", "")
	})
	t.Run("config file", func(t *testing.T) {
		t.Parallel()
		program(t, f.bin, "make-report", "echo all is well")
		program(t, f.bin, "mail", record("mail")+"\ncat >>"+filepath.Join(f.bin, "mail.ran"))
		for _, p := range f.everywhere(t, f.line(t, "--job report")) {
			p.exits(0)
			p.silent()
		}
		f.ran(t, "mail", "-s report ops@example.com", "all is well")
	})
	t.Run("no config file", func(t *testing.T) {
		t.Parallel()
		h := cronHost{home: t.TempDir(), settings: f.hosts[0].settings}
		h.run(t, f.line(t, "-n -E 0")).exits(78)
	})
	t.Run("percent", func(t *testing.T) {
		t.Parallel()
		program(t, f.bin, "date", `echo "date $1"`)
		program(t, f.bin, "archive", record("archive"))
		for _, p := range f.everywhere(t, f.line(t, "--lock archive")) {
			p.exits(0)
			p.silent()
		}
		f.ran(t, "archive", "--as date +%Y-%m")
	})
}
