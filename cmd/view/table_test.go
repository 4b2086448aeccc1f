package view

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// sample returns locks of all kinds.
func sample() []Lock {
	a := held("nightly", "web1/17/ab", 17)
	a.TTL, a.Left, a.Start, a.Host, a.PID = 15*time.Second, 11234*time.Millisecond, locks.StartTakeover, "web1", 17
	a.Queue = []locks.Place{{Holder: "web2/4/cd", Since: now.Add(-time.Minute), Priority: 5}, {Holder: "evil\x1b[31m"}}
	a.Counted, a.Waiters, a.Details = true, 3, []string{"voter\x1b[31m"}
	b := newLock("report", locks.State{}, []byte(`{"v":1,"runs":[{"spec":"0 0 * * *","done":[{"slot":1795219200,"begins":1795186800,"by":"web3","at":1795258800,"token":4}]}]}`), now)
	c := held("evil", "\x1b[2J", 18)
	c.Left = -2 * time.Second
	return []Lock{a, b, c}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := (Style{Now: now}).Table(&out, sample()); err != nil {
		t.Fatal(err)
	}
	want := `LOCK     STATE   HOLDER      SINCE  LEFT   TOKEN  WAITING  LAST RUN
nightly  held    web1/17/ab  3m     11.2s  17     3        -
report   free    -           -      -      -      -        1h ago
evil     lapsed  \x1b[2J     3m     -2s    18     -        -
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestColors: colours do not change the layout.
func TestColors(t *testing.T) {
	t.Parallel()
	var painted, bare bytes.Buffer
	for out, style := range map[*bytes.Buffer]Style{&painted: {Color: true, Wide: true, Now: now}, &bare: {Wide: true, Now: now}} {
		if err := style.Table(out, sample()); err != nil {
			t.Fatal(err)
		}
		if err := style.Detail(out, sample(), "etcd://h/p"); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(painted.String(), "\x1b["+green+"mheld\x1b[m") {
		t.Error("a lock that is held is not green")
	}
	text := painted.String()
	for _, paint := range []string{green, yellow, red, faint, bold} {
		text = strings.ReplaceAll(text, "\x1b["+paint+"m", "")
	}
	if text = strings.ReplaceAll(text, "\x1b[m", ""); text != bare.String() {
		t.Errorf("without its colours\n%s\nis not\n%s", text, bare.String())
	}
}

func TestDetail(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := (Style{Now: now}).Detail(&out, sample(), "etcd://h/p"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"nightly: held by web1/17/ab\n  host      web1, process 17\n  since     ",
		" (3m ago), by a takeover: the previous holder did not release the lock\n  token     17\n  lease     15s, 11.2s left\n  waiting   3\n",
		"\n         1. web2/4/cd since ", " (1m ago), priority 5\n", "\n         2. evil\\x1b[31m\n            1 more\n  voter\\x1b[31m\n",
		"\nreport: free\n  last run  ", "schedule 0 0 * * *, by web3, token 4\n",
		"\nevil: its lease ended 2s ago; nobody holds it; it was held by \\x1b[2J\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	unsure := sample()[len(sample())-1:]
	unsure[0].Left, unsure[0].Confirm = -time.Second, time.Second
	out.Reset()
	if err := (Style{Now: now}).Detail(&out, unsure, "etcd://h/p"); err != nil || !strings.Contains(out.String(), ": by the server's clock its lease ended 1s ago; not yet confirmed; it was held by") {
		t.Errorf("got %s, %v", out.String(), err)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(NewReport("file", "file:///d", sample(), now))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"v":1,"time":"2026-11-21T12:00:00Z","backend":"file","store":"file:///d","locks":[{"lock":"nightly","state":"held",`,
		`"ttl_ms":15000,"left_ms":11234,"start":"takeover","waiters":3,"queue":[{"holder":"web2/4/cd","since":"2026-11-21T11:59:00Z","priority":5},{"holder":"evil\\x1b[31m"}]`,
		`"last_run":{"schedule":"0 0 * * *","window":"2026-11-21T00:00:00+09:00","label":"2026-11-21","by":"web3","at":"2026-11-21T11:00:00Z","token":4}`,
		`{"lock":"evil","state":"lapsed","holder":"\\x1b[2J",`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
	if b, _ = json.Marshal(NewReport("file", "file:///d", nil, now)); !strings.Contains(string(b), `"locks":[]`) {
		t.Errorf("no locks are %s", b)
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59900 * time.Millisecond: "59s", time.Minute: "1m", 119 * time.Minute: "1h",
		47 * time.Hour: "47h", 48 * time.Hour: "2d", -time.Hour: "-1h",
		math.MinInt64: "-106751d", math.MaxInt64: "106751d",
	} {
		if got := age(d); got != want {
			t.Errorf("%v is %q; want %q", d, got, want)
		}
	}
}
