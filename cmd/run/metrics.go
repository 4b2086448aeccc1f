package run

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/monitor/metrics/feed"
)

// metricsEnd is how long leaderrun-monitor has to write its file, at the end of the run.
const metricsEnd = time.Second

// An exporter reports the run to leaderrun-monitor. It never blocks. A nil exporter, for a
// run without metrics, does nothing.
type exporter struct {
	runner.Unobserved

	monitor *helper.Monitor
	sink    *output.Sink
	log     *slog.Logger
	listens bool
	ending  atomic.Bool
	watched chan struct{} // closed when watch has returned
}

// exporter starts the program, if an option asks for it.
func (s *session) exporter(log *slog.Logger) (*exporter, error) {
	open := feed.Open{Lock: s.opt.Lock, ID: s.opt.ID, Advertise: s.opt.Advertise, Version: s.env.Version}
	var err error
	if open.Listen, err = listenAddress(s.opt.MetricsListen); err != nil {
		return nil, err
	}
	if open.File, err = metricsFile(s.opt.MetricsFile); err != nil {
		return nil, err
	}
	if open.Listen == "" && open.File == "" {
		return nil, nil
	}
	path, name, err := s.env.FindMonitor()
	if err != nil {
		return nil, err
	}
	monitor, err := helper.StartMonitor(path, []string{name, "metrics"}, log)
	if err != nil {
		return nil, err
	}
	e := &exporter{monitor: monitor, sink: output.NewSink(monitor.Input()), log: log, listens: open.Listen != "", watched: make(chan struct{})}
	go e.watch()
	e.tell(feed.Line{Open: &open})
	return e, nil
}

// watch warns if the program ends too early. The job keeps running.
func (e *exporter) watch() {
	defer close(e.watched)
	<-e.monitor.Ended()
	if !e.ending.Load() {
		e.log.Warn("leaderrun-monitor has ended; no more metrics", "err", e.monitor.ExitError())
	}
}

func (e *exporter) tell(l feed.Line) {
	l.At = clock.Boot{}.Now()
	line, err := json.Marshal(l)
	if err != nil { // a time beyond the year 9999
		return
	}
	_, _ = e.sink.Write(append(line, '\n'))
}

// Event implements [runner.Observer].
func (e *exporter) Event(ev event.Event) {
	e.tell(feed.Line{Event: &ev, Deadline: ev.Deadline})
}

// Renewed implements [runner.Observer].
func (e *exporter) Renewed(r keepalive.Renewal) {
	renewal := &feed.Renewal{Took: r.Done.Sub(r.Sent), Left: r.Left}
	if r.Err != nil {
		renewal.Class = runner.ClassOf(r.Err)
	}
	e.tell(feed.Line{Renewal: renewal, Deadline: r.Deadline})
}

// Waiting implements [runner.Observer].
func (e *exporter) Waiting(w locks.Waiting) {
	e.tell(feed.Line{Waiting: &feed.Waiting{Holder: locks.Printable(w.Status.Holder), Advertise: locks.Printable(w.Status.Advertise), Position: w.Position}})
}

// Heartbeat reports to leaderrun-monitor that we are well.
func (e *exporter) Heartbeat(stage heartbeat.Stage) time.Duration {
	if !e.listens || stage == heartbeat.Over {
		return 0
	}
	e.tell(feed.Line{Alive: true})
	return feed.AlivePeriod
}

// is reports whether a process is the program.
func (e *exporter) is(pid int) bool { return e != nil && e.monitor.Is(pid) }

// close has the file written. It takes a few seconds at the most.
func (e *exporter) close() {
	if e == nil {
		return
	}
	e.ending.Store(true)
	limit := time.Duration(0)
	if e.sink.Close() {
		limit = metricsEnd
	}
	_ = e.monitor.Input().Close()
	if e.monitor.End(limit) {
		<-e.watched
	}
}

// listenAddress returns the address that an option names, which has a port, and
// perhaps a host.
func listenAddress(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	wrong := func(why string) (string, error) {
		return "", locks.Usagef("--metrics-listen %s %s", output.Quote(v), why)
	}
	host, port := "", v
	if i := strings.LastIndexByte(v, ':'); i >= 0 {
		host, port = v[:i], v[i+1:]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || port != strconv.FormatUint(n, 10) {
		return wrong("is not a valid address (want 9100 or 0.0.0.0:9100)")
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	switch {
	case host == "":
		host = "127.0.0.1"
	case strings.Contains(bare, ":") != (len(host) == len(bare)+2):
		return wrong("has an invalid host (want a name, 192.0.2.1 or [2001:db8::1])")
	case strings.ContainsAny(bare, "[]/ @"):
		return wrong("is not a valid address (want 9100 or 0.0.0.0:9100)")
	}
	return host + ":" + port, nil
}

// metricsFile returns the file that an option names, and refuses one that cannot
// be replaced.
func metricsFile(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	name, err := filepath.Abs(v)
	if err != nil {
		return "", err
	}
	what := ""
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		what = "its directory does not exist"
	} else if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		what = "it is not a regular file"
	}
	if what != "" {
		return "", locks.Usagef("--metrics-file %s: %s", output.Quote(v), what)
	}
	return name, nil
}
