package oracle

import (
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// A peer on host p contends with three: each must exclude the other.
func TestAgainst(t *testing.T) {
	t.Parallel()
	peer := func(first, last float64) made {
		return made{host: "p", pid: 50, begun: first - 0.1, first: first, last: last, ended: last + 0.1}
	}
	for _, tt := range []struct {
		name  string
		peer  made
		fault trace.Entry
		want  string
		// forEver is set if the peer has no lease.
		forEver bool
	}{
		{"between two", peer(5.3, 5.9), trace.Entry{}, "", false},
		{"in a term", peer(4, 5.9), trace.Entry{}, "overlap: a peer's job (pid 10050) was there 1s before the end of token 6", false},
		{"in a term, as it was harmed", peer(4, 5.9), struck("kill", "p", 3, 3.1), "overlap: a peer's job", false},
		{"until a term", peer(5.3, 6.5), trace.Entry{}, "overlap: token 9 was there 500ms before the end of a peer's job (pid 10050), which no fault had struck", false},
		{"until a term, as another was harmed", peer(5.3, 6.5), struck("kill", "a", 5.4, 5.5), "overlap: token 9", false},
		{"until a term, as it was harmed", peer(5.3, 6.5), struck("kill", "p", 5.4, 5.5), "", false},
		{"until a term, as the server was", peer(5.3, 6.5), struck("kill", "", 5.4, 5.5), "", false},
		{"until a term, as it was harmed, without a lease", peer(5.3, 6.5), struck("kill", "p", 5.4, 5.5), "overlap: token 9", true},
	} {
		h := history(append(three(), tt.peer), tt.fault)
		v := Judge(h.Without("p"), Options{TTL: 5 * time.Second})
		v.Against(h, "p", !tt.forEver)
		if got := strings.Join(v.Wrong, "; "); !strings.HasPrefix(got, tt.want) || got != "" && tt.want == "" || v.Figures.Foreign != 1 {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
