package run

import (
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/notify"
)

// testService returns a service with a real socket, and a function that reads the messages
// received so far.
func testService(t *testing.T, env ...string) (*service, func() []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &service{
		manager: notify.FromEnvironment(append(env, "NOTIFY_SOCKET="+path), 1, slog.New(slog.DiscardHandler)),
		lock:    "nightly",
	}
	t.Cleanup(s.manager.Close)
	return s, func() []string {
		var all []string
		buf := make([]byte, 4097)
		for {
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) // sent messages are already there
			n, err := conn.Read(buf)
			if err != nil {
				return all
			}
			all = append(all, strings.ReplaceAll(string(buf[:n]), "\n", " | "))
		}
	}
}

func TestServiceMessages(t *testing.T) {
	t.Parallel()
	started := event.Event{Kind: event.Started, ID: "host/1/a", Token: 7}
	lost := event.Event{Kind: event.Lost, Reason: "lost: no renewal was acknowledged in time"}
	signalled := event.Event{Kind: event.Signalled, Signal: "TERM", Reason: "leaderrun received it"}
	killed := event.Event{Kind: event.Killed, Reason: "the grace is over"}
	exited := event.Event{Kind: event.Exited}
	tests := []struct {
		name   string
		events []event.Event
		want   []string
	}{
		{"waiting", []event.Event{
			{Kind: event.Unavailable, Reason: "connection refused"},
			{Kind: event.Waiting, Reason: "held by bob"},
			{Kind: event.Acquired},
		}, []string{`STATUS=waiting for lock "nightly": connection refused`, `STATUS=waiting for lock "nightly", held by bob`}},
		{"ready", []event.Event{started, exited}, []string{"STATUS=leading as host/1/a with token 7 | READY=1"}},
		{"lost", []event.Event{lost, signalled, killed}, []string{"STATUS=stopping: leadership was lost: no renewal was acknowledged in time | STOPPING=1"}},
		{"signalled", []event.Event{signalled, killed}, []string{"STATUS=stopping with TERM: leaderrun received it | STOPPING=1"}},
		{"killed", []event.Event{killed}, []string{"STATUS=stopping: the grace is over | STOPPING=1"}},
		{"a hostile holder", []event.Event{
			{Kind: event.Waiting, Reason: "held by x\nREADY=1\n" + strings.Repeat("y", 5000)},
		}, []string{`STATUS=waiting for lock "nightly", held by x\nREADY=1\n` + strings.Repeat("y", 200-len(`waiting for lock "nightly", held by x`)-len("?READY=1?")) + "…"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, received := testService(t)
			for _, e := range test.events {
				s.Event(e)
			}
			if got := received(); !slices.Equal(got, test.want) {
				t.Errorf("got\n\t%q\nwant\n\t%q", got, test.want)
			}
		})
	}
}

// TestServiceAlive checks what is sent in each stage, and how often.
func TestServiceAlive(t *testing.T) {
	t.Parallel()
	const extended = "EXTEND_TIMEOUT_USEC=30000000"
	tests := []struct {
		env    string
		stage  heartbeat.Stage
		active bool // READY=1 was sent
		every  time.Duration
		want   []string
	}{
		{"", heartbeat.Waiting, false, 10 * time.Second, []string{extended}},
		{"", heartbeat.Waiting, true, 0, nil},
		{"", heartbeat.Leading, true, 0, nil},
		{"", heartbeat.Leading, false, 10 * time.Second, []string{extended}}, // such as while on-elected runs
		{"WATCHDOG_USEC=3000000", heartbeat.Waiting, false, 1500 * time.Millisecond, []string{extended + " | WATCHDOG=1"}},
		{"WATCHDOG_USEC=60000000", heartbeat.Waiting, false, 10 * time.Second, []string{extended + " | WATCHDOG=1"}},
		{"WATCHDOG_USEC=60000000", heartbeat.Leading, true, 30 * time.Second, []string{"WATCHDOG=1"}},
		{"WATCHDOG_USEC=60000000", heartbeat.Stopping, true, 0, nil},
		{"WATCHDOG_USEC=60000000", heartbeat.Over, false, 0, []string{"STATUS=stopping: the job has ended | STOPPING=1"}},
	}
	for _, test := range tests {
		s, received := testService(t, test.env)
		s.active = test.active
		if got := s.Heartbeat(test.stage); got != test.every {
			t.Errorf("%q, stage %d: again after %v, want %v", test.env, test.stage, got, test.every)
		}
		if got := received(); !slices.Equal(got, test.want) {
			t.Errorf("%q, stage %d: got %q, want %q", test.env, test.stage, got, test.want)
		}
	}
}

// TestServicePingsAgain fills the socket. The ping must be repeated before the watchdog's
// limit.
func TestServicePingsAgain(t *testing.T) {
	t.Parallel()
	s, _ := testService(t, "WATCHDOG_USEC=10000000")
	for s.manager.Ping("FILL=1") {
	}
	if got := s.Heartbeat(heartbeat.Leading); got != time.Second {
		t.Errorf("again after %v, want 1s", got)
	}
}

// TestServiceStopsOnce: STOPPING=1 is sent once, although two events report the stop.
func TestServiceStopsOnce(t *testing.T) {
	t.Parallel()
	s, received := testService(t)
	s.Event(event.Event{Kind: event.Killed, Reason: "the lease is lost"})
	s.Heartbeat(heartbeat.Over)
	if got, want := received(), []string{"STATUS=stopping: the lease is lost | STOPPING=1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestServiceStopped: after STOPPING=1 nothing rearms the watchdog, such as the heartbeats of a hook.
func TestServiceStopped(t *testing.T) {
	t.Parallel()
	s, received := testService(t, "WATCHDOG_USEC=10000000")
	s.Event(event.Event{Kind: event.Killed, Reason: "the grace is over"})
	for _, stage := range []heartbeat.Stage{heartbeat.Leading, heartbeat.Waiting} {
		if pause := s.Heartbeat(stage); pause != 0 {
			t.Errorf("stage %d: again after %v", stage, pause)
		}
	}
	if got := received(); len(got) != 1 {
		t.Errorf("got %q, want only that it stops", got)
	}
}

// TestNoService: without a service manager there is nothing to do, and no further call.
func TestNoService(t *testing.T) {
	t.Parallel()
	s := &service{}
	s.Event(event.Event{Kind: event.Started})
	if pause := s.Heartbeat(heartbeat.Waiting); pause != 0 {
		t.Errorf("the runner would call Heartbeat again after %v", pause)
	}
}
