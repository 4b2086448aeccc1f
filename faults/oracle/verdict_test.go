package oracle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// TestVerdict checks the output of a failing run: the seed, the faults around the
// violation and the records that show it.
func TestVerdict(t *testing.T) {
	t.Parallel()
	h := history(with(func(m []made) {
		m[0].cut, m[0].status = true, 76
		m[1].first = 2.8
		m[1].writes = []trace.Entry{wrote(2.9, 2.95), wrote(4, 4.1)}
		m[0].writes = append(m[0].writes, refused(2.96, 2.97, 6))
	}),
		struck("stop leaderrun", "b", 0.1, 0.2),
		struck("delay", "b", 0.3, 0.4),
		struck("blackhole", "a", 1.5, 4.5),
		struck("restart", "", 5.5, 6),
		struck("delay", "b", 6.1, 6.2))
	v := Judge(h, Options{Seed: 7, TTL: time.Second, Dir: t.TempDir()})
	want := `3 violations, seed 7
  overlap: job of token 6 (pid 10006) was there 200ms before the end of job of token 5 (pid 10005)
  the register refused token 5 of host a, leaderrun 5: it knew 6, and that job was still there 2970.0 ms after the start
  not a history of a fenced mutex: see the terms from token 5 to 5
picture: FILE
schedule, ms after the start:
  (1 before)
  300.0 to 400.0: delay, of host b
  1500.0 to 4500.0: blackhole, of host a
  5500.0 to 6000.0: restart, of the server
  (1 after)
ms       host  token  what
0.0      a     5      leaderrun 5 was started
500.0    b     6      leaderrun 6 was started
1000.0   a     5      job 10005: first moment
1500.0   a            blackhole begins
2800.0   b     6      job 10006: first moment
2950.0   b     6      write accepted
2970.0   a     5      write refused, the register knew 6
3000.0   a     5      job 10005: last moment
3200.0   a     5      leaderrun 5 had ended, with 76
4500.0   a            blackhole is over
5000.0   b     6      job 10006: last moment
5200.0   b     6      leaderrun 6 had ended, with 0
8000.0   a     5      end of the lease, as the job knew it
10000.0  b     6      end of the lease, as the job knew it
`
	if got := strings.Replace(v.String(), v.Picture, "FILE", 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestManyViolations checks that the first violation and their number are printed and,
// without a term to show, the whole schedule.
func TestManyViolations(t *testing.T) {
	t.Parallel()
	var ended []trace.Entry
	for pid := range most + 3 {
		ended = append(ended, trace.Entry{Kind: trace.Ran, PID: pid, At: at(9)})
	}
	got := Judge(history(nil, append(ended, struck("delay", "a", 1, 2), struck("stop", "b", 8, 9))...), Options{}).String()
	for _, want := range []string{fmt.Sprint(most+3, " violations"), "leaderrun 9 ended", "and 3 more", "delay, of host a", "stop, of host b"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "leaderrun 10 ended") || strings.Contains(got, "token") {
		t.Errorf("too much is printed:\n%s", got)
	}
}

// TestFewOfAKind checks that one orphan is reported among a thousand overlaps.
func TestFewOfAKind(t *testing.T) {
	t.Parallel()
	v := &Verdict{}
	for n := range 1000 {
		v.complain(fmt.Sprintf("overlap: job of token %d", n))
	}
	v.complain("orphan: job of token 7")
	if got := v.String(); !strings.Contains(got, "orphan: ") || !strings.Contains(got, fmt.Sprint("and ", 1000-most, " more")) {
		t.Errorf("the orphan, or the number of those that are not printed, is missing in\n%s", got)
	}
}
