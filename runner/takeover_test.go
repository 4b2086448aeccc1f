//go:build unix

package runner

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// Strict waits for the lease that a holder was granted which has not ended its
// term, and for no other.
func TestStrict(t *testing.T) {
	for _, tt := range []struct {
		name, record string
		clean        bool // the backend knows that it was released
		want         time.Duration
	}{
		{"the first", ``, false, 0},
		{"died", `{"v":1,"term":{"token":6,"ttl_ns":40000000000}}`, false, 40 * time.Second},
		{"released", `{"v":1,"term":{"token":6,"ttl_ns":40000000000,"clean":true}}`, false, 0},
		{"released, says the backend", `{"v":1,"term":{"token":6,"ttl_ns":40000000000}}`, true, 0},
		{"nonsense", `{"v":1,"term":{"token":6,"ttl_ns":9000000000000000000}}`, false, MaxTTL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.c.Strict = true
				r.record = []byte(tt.record)
				r.acquire = []acquisition{func(ctx context.Context, h *handle, try bool) (locks.Grant, error) {
					g, err := granted(ctx, h, try)
					g.Clean = tt.clean
					return g, err
				}}
				if tt.want > time.Hour {
					r.send(time.Hour, syscall.SIGTERM)
				}
				r.job.begin = runs(time.Second, 0)
				exit, err := r.run()
				if tt.want > time.Hour {
					r.did("0s open", "0s acquire", "1h0m0s release", "1h0m0s close")
					return
				}
				r.ended(exit, err, proc.Exit{})
				if got := r.times("start"); len(got) != 1 || got[0] != tt.want {
					t.Errorf("started at %v, want %v", got, tt.want)
				}
				if !strings.Contains(string(r.record), `"term":{"token":7,"ttl_ns":15000000000,"clean":true}`) {
					t.Errorf("left %s, want our term, which ended well", r.record)
				}
			})
		})
	}
}

// What ends while the lease before may still run leaves the next holder to wait:
// our term was never begun.
func TestStrictCutShort(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Strict = true
		const before = `{"v":1,"term":{"token":6,"ttl_ns":40000000000}}`
		r.record = []byte(before)
		r.acquire = []acquisition{func(ctx context.Context, h *handle, try bool) (locks.Grant, error) {
			g, err := granted(ctx, h, try)
			g.Clean = false
			return g, err
		}}
		r.send(10*time.Second, syscall.SIGTERM)
		_, _ = r.run()
		r.did("0s open", "0s acquire", "10s release", "10s close")
		if string(r.record) != before {
			t.Errorf("left %s, want %s", r.record, before)
		}
	})
}

// A term that was lost has not ended well.
func TestStrictLost(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Strict = true
		r.at(10*time.Second, func() { r.lost <- locks.ErrLost })
		_, _ = r.run()
		if !strings.Contains(string(r.record), `"term":{"token":7,"ttl_ns":15000000000,"clean":false}`) {
			t.Errorf("left %s, want our term, which did not end well", r.record)
		}
	})
}
