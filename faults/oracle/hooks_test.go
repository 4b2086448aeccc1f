package oracle

import (
	"slices"
	"strings"
	"testing"
)

// TestRejoinHooks judges the hooks of a leaderrun that had the lock again after it had lost it.
func TestRejoinHooks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		hook string
		when [2]float64 // of the hook in the second term
		want []string
	}{
		{"before the job", "elected", [2]float64{3.6, 3.9}, nil},
		{"in the job", "elected", [2]float64{3.6, 4.1}, []string{"token 6: job and its hook elected at one time"}},
		{"before the job has ended", "resign", [2]float64{4.9, 5.2}, []string{"token 6: its job began without its hook elected", "token 6: job and its hook resign at one time"}},
		{"before the job of the first term has ended", "elected", [2]float64{2.9, 3.5}, []string{"overlap: elected of token 6", "not a history"}},
		{"never", "", [2]float64{}, []string{"token 6: its job began without its hook elected"}},
		{"only the other one", "resign", [2]float64{5.1, 5.2}, []string{"token 6: its job began without its hook elected"}},
	} {
		h := history([]made{
			{host: "a", pid: 70, token: 5, begun: 0, first: 1, last: 3, cut: true, hook: "elected", child: [2]float64{0.8, 0.9}},
			{host: "a", pid: 70, token: 6, begun: 0, first: 4, last: 5, ended: 5.3, hook: tt.hook, child: tt.when},
		})
		h.Entries = h.Entries[1:] // the leaderrun was started once
		h.Entries[0].What = Service
		if v := Judge(h, Options{Dir: t.TempDir()}); len(v.Wrong) != len(tt.want) || !slices.EqualFunc(v.Wrong, tt.want, strings.Contains) {
			t.Errorf("%s: got %q, want %q", tt.name, v.Wrong, tt.want)
		}
	}
}
