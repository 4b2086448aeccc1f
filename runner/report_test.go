package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// eventLines returns the events as lines. It checks the fields that all events have.
func (r *rig) eventLines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, e := range r.events {
		before := e.Kind == event.Waiting || e.Kind == event.Unavailable || e.Kind == event.NotRun
		if e.Lock != "nightly" || e.ID != "host/1/a" || before != (e.Token == 0) || !before && e.Token != token {
			r.t.Errorf("got %+v", e)
		}
		line := fmt.Sprintf("%v %s", e.Time.Sub(r.start), e.Kind)
		if e.PID != 0 {
			line += fmt.Sprintf(" pid=%d", e.PID)
		}
		if e.Code != nil {
			line += fmt.Sprintf(" code=%d", *e.Code)
		}
		if e.LeftMS != nil {
			line += fmt.Sprintf(" left=%d", *e.LeftMS)
		}
		lines = append(lines, strings.TrimSuffix(line+" "+e.Signal, " ")+suffix(e.Reason))
	}
	return lines
}

func suffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// Each way to end has its events in order, with the fields that a script needs.
func TestEvents(t *testing.T) {
	const acquired, started = "0s acquired left=14985", "0s started pid=4711"
	tests := []struct {
		name  string
		setup func(r *rig)
		want  []string
	}{
		{"end", func(r *rig) { r.job.begin = runs(seconds(2), 3) },
			[]string{acquired, started, "2s exited pid=4711 code=3", "2s released"}},
		{"wait", func(r *rig) {
			r.acquire = []acquisition{fails(errDown), waits(seconds(1), "bob", waits(seconds(1), "bob", waits(seconds(1), "eve\x1b", fails(errDenied))))}
		}, []string{`0s unavailable: acquire "nightly" on model: connection refused`, "* waiting: held by bob", `* waiting: held by eve\x1b`, "* not_run: acquire on : not yours"}},
		{"not guarded", func(r *rig) { r.starts = func(j *job, _ proc.Command) { j.refuse = proc.ErrUnguarded } },
			[]string{acquired, "0s lost: lost: the job would not be guarded", "0s released", "0s not_run: lost: the job would not be guarded"}},
		{"signal", func(r *rig) { r.send(seconds(2), syscall.SIGINT) },
			[]string{acquired, started, "2s signalled INT: leaderrun received it", "2s exited pid=4711 code=130", "2s released"}},
		{"signal ignored", func(r *rig) { r.job.on = deaf; r.send(seconds(2), syscall.SIGTERM) },
			[]string{acquired, started, "2s signalled TERM: leaderrun received it", "7s killed: the grace is over", "7s exited pid=4711 code=137", "7s released"}},
		{"leftovers", func(r *rig) { r.job.begin = forks(seconds(2), 0) },
			[]string{acquired, started, "2s exited pid=4711 code=0", "2s signalled TERM: the first process has ended", "2s released"}},
		{"partition", func(r *rig) { r.job.on, r.renew = deaf, func(n int) reply { return reply{silent: n == 2 || n > 3} } },
			[]string{acquired, started,
				"8s renew_failed left=9985: context deadline exceeded",
				"13s renew_failed left=9985: context deadline exceeded",
				"15s renew_failed left=7985: context deadline exceeded",
				"15.985s lost: lost: no renewal was acknowledged in time",
				"15.985s signalled TERM: the lease is about to end",
				"17s renew_failed left=5985: context deadline exceeded",
				"19s renew_failed left=3985: context deadline exceeded",
				"20.985s killed: the lease is about to end",
				"20.985s exited pid=4711 code=137", "20.985s released"}},
		{"eviction", func(r *rig) { r.at(seconds(4), r.server.evict) },
			[]string{acquired, started, "~ 6s renew_failed left=11985: lost", "6s lost: lost", "6s killed: the lease is lost", "6s exited pid=4711 code=137"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				test.setup(r)
				_, _ = r.run()
				got := r.eventLines()
				test.want = slices.DeleteFunc(test.want, func(line string) bool { // at any time, because another goroutine emits it
					what, anywhere := strings.CutPrefix(line, "~ ")
					i := slices.Index(got, what)
					if anywhere && i >= 0 {
						got = slices.Delete(got, i, i+1)
					}
					return anywhere && i >= 0
				})
				for i, line := range test.want {
					if rest, ok := strings.CutPrefix(line, "* "); ok && i < len(got) { // at any time
						_, what, _ := strings.Cut(got[i], " ")
						got[i] = strings.Replace(what, rest, line, 1)
					}
				}
				if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
					t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(test.want, "\n\t"))
				}
			})
		})
	}
}

// A renewal may fail before the grant was reported. Its event comes after acquired, and has the
// token.
func TestFirstRenewalFailsAtOnce(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.acquire = []acquisition{func(ctx context.Context, h *handle, try bool) (locks.Grant, error) {
			time.Sleep(3 * time.Second) // R: the first renewal is due
			return granted(ctx, h, try)
		}}
		r.renew = failing(1, 1)
		r.job.begin = runs(seconds(2), 0)
		_, err := r.run()
		if err != nil {
			t.Error(err)
		}
		if got := r.eventLines(); !strings.HasPrefix(got[0], "3s acquired ") {
			t.Errorf("got %q; want acquired first", got)
		}
	})
}

// An event in JSON has only the fields that apply.
func TestEventJSON(t *testing.T) {
	t.Parallel()
	code := 0
	line, err := json.Marshal(event.Event{Version: event.Version, Time: time.Unix(0, 0).UTC(), Kind: event.Exited, Lock: "a", ID: "b", Token: 7, PID: 1, Code: &code})
	want := `{"v":1,"time":"1970-01-01T00:00:00Z","event":"exited","lock":"a","id":"b","token":7,"pid":1,"code":0}`
	if err != nil || string(line) != want {
		t.Errorf("got %s, %v; want %s", line, err, want)
	}
}
