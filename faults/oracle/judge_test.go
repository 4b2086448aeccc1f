package oracle

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// three are correct terms, of one host waiting for the other, with a write each.
func three() []made {
	return []made{
		{host: "a", token: 5, begun: 0, first: 1, last: 3, ended: 3.2, until: 8, writes: []trace.Entry{wrote(2, 2.1)}},
		{host: "b", token: 6, begun: 0.5, first: 3.1, last: 5, ended: 5.2, until: 10, writes: []trace.Entry{wrote(4, 4.1)}},
		{host: "a", token: 9, begun: 4, first: 6, last: 8, ended: 8.2, until: 13, writes: []trace.Entry{wrote(7, 7.1)}},
	}
}

// with returns the three with a change.
func with(change func(m []made)) []made {
	m := three()
	change(m)
	return m
}

// TestJudge changes a correct history in each way that a verdict reports, and in some
// ways that are not violations.
func TestJudge(t *testing.T) {
	t.Parallel()
	const overlap, illegal = "overlap: ", "not a history of a fenced mutex"
	kill := struck("kill leaderrun", "a", 2.9, 2.91)
	for _, tt := range []struct {
		name   string
		terms  []made
		others []trace.Entry
		want   []string // parts of what is wrong
	}{
		{"as it must be", three(), nil, nil},
		{"nothing", nil, nil, nil},
		{"two at one time", with(func(m []made) { m[1].first = 2.5 }), nil, []string{overlap + "job of token 6", illegal}},
		{"a child and a job", with(func(m []made) { m[0].child = [2]float64{1.5, 3.15} }), nil, []string{overlap + "job of token 6", illegal}},
		{"a child before its job", with(func(m []made) { m[1].child = [2]float64{2.9, 4} }), nil, []string{overlap + "child of token 6", illegal}},
		{"a child beside its job", with(func(m []made) { m[1].child = [2]float64{3.2, 5.1} }), nil, nil},
		{"a job again, between two of another", append(three(), made{host: "c", token: 20, begun: 0, first: 9, last: 10, ended: 14}, made{host: "d", token: 21, begun: 0, first: 11, last: 11.5, ended: 11.6}, made{host: "c", pid: 20, token: 20, begun: 0, first: 12, last: 13}), nil,
			[]string{overlap, illegal}},
		{"a write after the last moment", with(func(m []made) { m[0].writes = append(m[0].writes, wrote(3.11, 3.12)) }), nil, []string{overlap, illegal}},
		{"a write before the first moment", with(func(m []made) { m[1].writes = append(m[1].writes, wrote(2, 2.9)) }), nil, []string{illegal}},
		{"a write of before, after the next", with(func(m []made) { m[0].writes = append(m[0].writes, wrote(7.2, 7.3)) }), nil,
			[]string{overlap, overlap, "accepted token 5 after 9", "accepted token 5 after 9, in time", "orphan: token 5 was used", illegal}},
		{"a refused write", with(func(m []made) { m[1].writes[0] = refused(4, 4.1, 9) }), nil, []string{"refused token 6 of host b", illegal}},
		{"a token that falls", with(func(m []made) { m[2].token = 4 }), nil, []string{"token 6 was followed by 4", "accepted token 4 after 6", "accepted token 4 after 6, in time", illegal}},
		{"a token again", with(func(m []made) { m[2].token, m[2].pid, m[2].writes = 6, 9, nil }), nil, []string{"token 6 was followed by 6", illegal}},
		{"a child after leaderrun", with(func(m []made) { m[1].child = [2]float64{4, 5.9} }), nil, []string{"orphan: child of token 6"}},
		{"a job after leaderrun", with(func(m []made) { m[1].ended = 4.9 }), nil, []string{"orphan: job of token 6"}},
		{"something left", three(), []trace.Entry{{Kind: trace.Began, Host: "c", PID: 77, At: at(9)}, {Kind: trace.Ran, Host: "c", PID: 77, At: at(9.1), Left: 2}}, []string{"orphan: 2 processes of host c"}},
		{"a killed leaderrun", with(func(m []made) { m[0].ended, m[0].status, m[0].cut = 2.92, 137, true }), []trace.Entry{kill}, nil},
		{"a killed leaderrun that nobody killed", with(func(m []made) { m[0].ended, m[0].status = 2.92, 137 }), nil, []string{"orphan: job of token 5"}},
		{"another killed leaderrun", with(func(m []made) { m[1].ended, m[1].status = 4.9, 137 }), []trace.Entry{kill}, []string{"orphan: job of token 6"}},
		{"a killed leaderrun, by its process id", with(func(m []made) { m[1].ended, m[1].status = 4.9, 137 }),
			[]trace.Entry{{Kind: trace.Fault, What: "kill leaderrun and guard", Leaderrun: 6, Call: at(4.88), At: at(4.89)}}, nil},
		{"a killed leaderrun, and its job after the lease", with(func(m []made) { m[0].ended, m[0].status, m[0].until = 2.92, 137, 2.95 }), []trace.Entry{kill},
			[]string{"orphan: job of token 5 (pid 10005) was there 50ms after the end of its lease"}},
		{"a killed leaderrun, and its child in the next term", with(func(m []made) { m[0].ended, m[0].status, m[0].child = 2.92, 137, [2]float64{1, 4} }), []trace.Entry{kill},
			[]string{overlap, "orphan: child of token 5", illegal}},
		{"a job that learned nothing, after one that asked no more", with(func(m []made) { m[2].last, m[2].until, m[2].again, m[2].writes = 6.1, 7.9, [2]float64{7.5, 8}, nil }), nil, nil},
		{"a job that learned nothing, beside one that asks", with(func(m []made) { m[2].until, m[2].again = 7.9, [2]float64{7.5, 8} }), nil, []string{"token 9 outlived its lease, as its job knew it, by 100ms"}},
		{"hooks before and after the job", with(func(m []made) {
			m[0].hook, m[0].child = "resign", [2]float64{3.01, 3.05}
			m[2].hook, m[2].child = "elected", [2]float64{5.8, 5.9}
		}), nil, nil},
		{"a hook that learned nothing, after a job that asked no more", with(func(m []made) {
			m[2].until, m[2].last, m[2].writes, m[2].hook, m[2].child = 7.2, 7, nil, "resign", [2]float64{7.3, 7.4}
		}), nil, nil},
		{"a job before its hook has ended", with(func(m []made) { m[2].hook, m[2].child = "elected", [2]float64{5.8, 6} }), nil, []string{"token 9: job and its hook elected at one time"}},
		{"a job in its last hook", with(func(m []made) { m[2].hook, m[2].child = "resign", [2]float64{7.9, 8.1} }), nil, []string{"token 9: job and its hook resign at one time"}},
		{"a job after its lease", with(func(m []made) { m[2].until = 7.9 }), nil, []string{"token 9 outlived its lease, as its job knew it, by 100ms"}},
		{"a term of which an operator was told too early", three(), []trace.Entry{{Kind: trace.Resigned, Token: 9, At: at(7.5)}}, []string{"resigned: token 9 was there 500ms after"}},
		{"a term of which an operator was told", three(), []trace.Entry{{Kind: trace.Resigned, Token: 9, At: at(8.1)}}, nil},
		{"a job that learned of the end of its lease later", three(), []trace.Entry{{Kind: trace.Outside, Host: "c", Token: 9, Leaderrun: 9, At: at(7.6), Call: at(7.5), Expiry: at(7.25)}}, []string{"outside its lease: the job of token 9 lived 250ms after its end"}},
		{"no end of leaderrun", with(func(m []made) { m[1].ended = 0 }), nil, nil},
		{"waiters in vain", three(), []trace.Entry{
			{Kind: trace.Began, Host: "c", PID: 70, At: at(0.1)}, {Kind: trace.Ran, Host: "c", PID: 70, Call: at(0.1), At: at(7), Status: 75},
			{Kind: trace.Began, Host: "c", PID: 70, At: at(7.1)}}, nil},
		{"a process id again", append(three(), made{host: "c", pid: 5, token: 10, begun: 4, first: 9, last: 10, ended: 10.1, writes: []trace.Entry{wrote(9.5, 9.6)}}), nil, nil},
		{"a leaderrun that never began", nil, []trace.Entry{{Kind: trace.Ran, PID: 70, At: at(7)}}, []string{"leaderrun 70 ended but never began"}},
		{"a write of nobody", three(), []trace.Entry{{Kind: trace.Write, Host: "a", Token: 8, Call: at(5.5), At: at(5.6)}}, []string{"write of token 8 on host \"a\" is nobody's"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := Judge(history(tt.terms, tt.others...), Options{TTL: 5 * time.Second, Dir: t.TempDir()})
			if len(v.Wrong) != len(tt.want) || !slices.EqualFunc(v.Wrong, tt.want, strings.Contains) {
				t.Errorf("got %q, want %q", v.Wrong, tt.want)
			}
			if (v.String() == "") != (len(tt.want) == 0) || (v.Picture != "") != slices.Contains(tt.want, illegal) {
				t.Errorf("got picture %q and text %q", v.Picture, v)
			}
		})
	}
}

// TestSilence lets a job outlive its lease, as far as it knows, during a fault of its
// host. The lease is 5 seconds long, so the job learned of it at 2.9 or later.
func TestSilence(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault trace.Entry
		wrong int
	}{
		"until it ends":          {struck("deafness", "a", 6.5, 9), 0},
		"over before it heard":   {struck("deafness", "a", 1, 2.8), 1},
		"of another host":        {struck("deafness", "b", 6.5, 9), 1},
		"after its end":          {struck("deafness", "a", 8.1, 9), 1},
		"a fault of other kinds": {struck("delay", "a", 6.5, 9), 1},
	} {
		h := history(with(func(m []made) { m[2].until = 7.9 }), tt.fault)
		v := Judge(h, Options{TTL: 5 * time.Second, Silent: []string{"deafness"}, Dir: t.TempDir()})
		if len(v.Wrong) != tt.wrong || v.Figures.Slack.Of != 2+tt.wrong {
			t.Errorf("%s: got %q, slack of %d terms", name, v.Wrong, v.Figures.Slack.Of)
		}
	}
}

// TestFrozen lets a job outlive its lease, as far as it knows: leaderrun was frozen, and
// may have renewed the lease before.
func TestFrozen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault trace.Entry
		until float64
		wrong int
	}{
		"in its last lease":  {struck("ice", "a", 6.5, 9), 7.9, 0},
		"too long before":    {struck("ice", "a", 2.5, 9), 7.9, 1},
		"on another host":    {struck("ice", "b", 6.5, 9), 7.9, 1},
		"after its end":      {struck("ice", "a", 8.1, 9), 7.9, 1},
		"much earlier still": {struck("ice", "a", 2.7, 9), 7.6, 1},
		"and outlived it":    {struck("ice", "a", 2.75, 9), 7.6, 1},
	} {
		h := history(with(func(m []made) { m[2].until = tt.until }), tt.fault)
		v := Judge(h, Options{TTL: 5 * time.Second, Frozen: []string{"ice"}, Dir: t.TempDir()})
		if len(v.Wrong) != tt.wrong {
			t.Errorf("%s: got %q", name, v.Wrong)
		}
	}
}

// TestUnknownLeaderrun judges a job that no leaderrun started.
func TestUnknownLeaderrun(t *testing.T) {
	t.Parallel()
	h := history(three())
	h.Entries = slices.DeleteFunc(h.Entries, func(e trace.Entry) bool { return e.PID == 6 })
	v := Judge(h, Options{})
	if len(v.Wrong) != 1 || !strings.Contains(v.Wrong[0], "leaderrun 6, which never began") {
		t.Errorf("got %q", v.Wrong)
	}
}

// TestRejoin judges a leaderrun that had the lock twice.
func TestRejoin(t *testing.T) {
	t.Parallel()
	for second, want := range map[uint64]int{6: 0, 4: 2} {
		h := history([]made{
			{host: "a", pid: 70, token: 5, begun: 0, first: 1, last: 3},
			{host: "a", pid: 70, token: second, begun: 0, first: 4, last: 5, ended: 5.1},
		})
		h.Entries = h.Entries[1:] // the leaderrun was started once
		if v := Judge(h, Options{Dir: t.TempDir()}); len(v.Wrong) != want || v.Figures.Terms != 2 {
			t.Errorf("with token %d: got %q, %d terms", second, v.Wrong, v.Figures.Terms)
		}
	}
}

// TestPeer judges terms of a program that guarantees no tokens: its processes distinguish
// them.
func TestPeer(t *testing.T) {
	t.Parallel()
	peer := func(change func(m []made)) *Verdict {
		m := with(change)
		for i := range m {
			m[i].token, m[i].until, m[i].pid = 0, 0, 100-i
		}
		return Judge(history(m), Options{NoTokens: true, Dir: t.TempDir()})
	}
	if v := peer(func([]made) {}); len(v.Wrong) != 0 || v.Figures.Terms != 3 || v.Figures.Gap != (Least{2, 100 * time.Millisecond}) || v.Figures.Slack.Of != 0 || len(v.Figures.HandOvers) != 2 {
		t.Errorf("got %q and %+v", v.Wrong, v.Figures)
	}
	v := peer(func(m []made) { m[1].first = 2 })
	want := []string{"overlap: ", "not a history"}
	if v.Figures.Overlaps != 1 || !slices.EqualFunc(v.Wrong, want, strings.Contains) {
		t.Errorf("two at one time: got %q, %d", v.Wrong, v.Figures.Overlaps)
	}
	if v := peer(func(m []made) { m[1].writes[0] = refused(4, 4.1, 9) }); v.Figures.Refused != 1 {
		t.Errorf("refused: got %d", v.Figures.Refused)
	}
	for _, tt := range []struct {
		stopped float64
		peers   bool
		orphans int
	}{{9, true, 0}, {10, true, 2}, {9, false, 2}} { // what is left behind by one that was killed
		h := history(nil, trace.Entry{Kind: trace.Began, Host: "c", PID: 77, At: at(8)}, trace.Entry{Kind: trace.Stopped, At: at(tt.stopped)},
			trace.Entry{Kind: trace.Ran, Host: "c", PID: 77, At: at(9.1), Status: 137, Left: 2})
		if v := Judge(h, Options{NoTokens: tt.peers}); v.Figures.Orphans != tt.orphans {
			t.Errorf("stopped at %v: got %d orphans", tt.stopped, v.Figures.Orphans)
		}
	}
}

// TestPicture looks into the file that shows an illegal history.
func TestPicture(t *testing.T) {
	t.Parallel()
	h := history(with(func(m []made) { m[1].first = 2.5 }), struck("blackhole", "a", 1, 4))
	v := Judge(h, Options{Dir: t.TempDir()})
	text, err := os.ReadFile(v.Picture)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"enter 6", "blackhole, of host a", "term 2 on host b, leaderrun 6, from 500.0 to 2500.0 ms"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// Each slot is a lock of its own: its terms overlap those of others, and its tokens are its own.
func TestSlots(t *testing.T) {
	t.Parallel()
	one, two := history(three()), history(with(func(m []made) {
		for i := range m {
			m[i].host, m[i].pid, m[i].token = m[i].host+"'", 100+i, m[i].token-1
		}
		m[1].first = 2.5 // two at one time
	}))
	both := func(of, and History) (h History) {
		for i, from := range []History{of, and} {
			for _, e := range from.Entries {
				if e.Kind != trace.Began && e.Kind != trace.Ran {
					e.Slot = i + 1
				}
				h.Entries = append(h.Entries, e)
			}
			for _, s := range from.Stays {
				s.Slot = i + 1
				h.Stays = append(h.Stays, s)
			}
		}
		return h
	}
	h := both(one, two)
	if v := Judge(h.Slot(1), Options{}); len(v.Wrong) > 0 {
		t.Errorf("slot 1: %v", v)
	}
	v := Judge(h.Slot(0), Options{})
	v.Join(Judge(h.Slot(2), Options{}))
	if v.Figures.Terms != 3 || v.Figures.Overlaps != 1 || len(v.Wrong) == 0 {
		t.Errorf("slot 2: %d terms, %d overlaps: %v", v.Figures.Terms, v.Figures.Overlaps, v)
	}
}

// A frozen machine excuses what it cannot help, and for a moment only.
func TestThaw(t *testing.T) {
	t.Parallel()
	o := Options{TTL: 5 * time.Second, Machine: "ice", Frozen: []string{"ice"}}
	frozen := func(last float64, writes ...trace.Entry) []made { // while b leads
		return with(func(m []made) { m[0].last, m[0].ended, m[0].writes = last, last+0.1, writes })
	}
	freeze := func(host string, begin, end float64) trace.Entry {
		e := struck("ice", host, begin, end+0.1)
		e.Thaw = at(end)
		return e
	}
	ice := freeze("a", 2.9, 4.5)
	outside := func(host string, last float64) trace.Entry {
		return trace.Entry{Kind: trace.Outside, Host: host, Token: 9, Leaderrun: 9, At: at(8), Call: at(last), Expiry: at(7)}
	}
	for _, tt := range []struct {
		name  string
		terms []made
		fault trace.Entry
		want  []string
		other []trace.Entry
	}{
		{"a moment", frozen(4.8), ice, nil, nil},
		{"a refused write", frozen(4.8, wrote(2, 2.1), refused(4.6, 4.7, 6)), ice, nil, nil},
		{"an accepted write", frozen(4.8, wrote(2, 2.1), wrote(4.6, 4.7)), ice, []string{"accepted token 5 after 6"}, nil},
		{"too long", frozen(5.6), ice, []string{"token 5 lived 1.1s after its machine was thawed"}, nil},
		{"another machine", frozen(4.8), freeze("b", 2.9, 4.5), []string{"overlap: ", "not a history"}, nil},
		{"frozen later", frozen(4.8), freeze("a", 3.3, 4.5), []string{"overlap: ", "not a history"}, nil},
		{"another job after it", with(func(m []made) { m[0].again, m[0].ended = [2]float64{4.6, 4.9}, 4.9 }), ice, []string{"overlap: ", "not a history"}, nil},
		{"a child after it", with(func(m []made) { m[0].last, m[0].child, m[0].ended = 4.6, [2]float64{4.6, 4.9}, 4.9 }), ice, nil, nil},
		{"a child that stays", with(func(m []made) { m[0].last, m[0].child, m[0].ended = 4.6, [2]float64{4.6, 5.6}, 5.7 }), ice, []string{"token 5 lived 1.1s after its machine was thawed"}, nil},
		{"a lease that ended meanwhile", three(), freeze("a", 6.5, 7.4), nil, []trace.Entry{outside("a", 7.5)}},
		{"a lease that ended before", three(), freeze("a", 7.1, 7.4), []string{"outside its lease"}, []trace.Entry{outside("a", 7.5)}},
		{"a lease that ended on another machine", three(), freeze("b", 6.5, 7.4), []string{"outside its lease"}, []trace.Entry{outside("a", 7.5)}},
	} {
		v := Judge(history(tt.terms, append(tt.other, tt.fault)...), o)
		missing := slices.DeleteFunc(slices.Clone(tt.want), func(want string) bool {
			return slices.ContainsFunc(v.Wrong, func(w string) bool { return strings.Contains(w, want) })
		})
		if len(missing) > 0 || (len(v.Wrong) > 0) != (len(tt.want) > 0) {
			t.Errorf("%s: got %q, want %q", tt.name, v.Wrong, tt.want)
		}
	}
}
