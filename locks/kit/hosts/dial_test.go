package hosts

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// An address accepts after a while, refuses after a while, or does neither.
type address struct {
	takes   time.Duration // 0: for ever
	refuses error
}

// TestRace connects to the first address that accepts, and closes connections to others. It waits
// for the end of a context only if no address answers.
func TestRace(t *testing.T) {
	t.Parallel()
	no, other := errors.New("no"), errors.New("another no")
	const soon, limit = time.Millisecond, 5 * time.Second
	for name, c := range map[string]struct {
		addrs []address
		want  string
		took  time.Duration
		err   error
	}{
		"the first":                 {[]address{{soon, nil}, {soon, nil}}, "a", soon, nil},
		"the first is dead":         {[]address{{0, nil}, {soon, nil}}, "b", another + soon, nil},
		"two are dead":              {[]address{{0, nil}, {0, nil}, {soon, nil}}, "c", 2*another + soon, nil},
		"the first refuses":         {[]address{{soon, no}, {soon, nil}}, "b", 2 * soon, nil},
		"the first is slow":         {[]address{{another + soon, nil}, {time.Second, nil}}, "a", another + soon, nil},
		"the second is too late":    {[]address{{another + 2*soon, nil}, {3 * soon, nil}}, "a", another + 2*soon, nil},
		"all refuse":                {[]address{{2 * soon, no}, {soon, other}}, "", 3 * soon, no},
		"the second refuses sooner": {[]address{{time.Second, no}, {soon, other}}, "", time.Second, no},
		"all are dead":              {[]address{{0, nil}, {0, nil}}, "", limit, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // which fails if something goes on
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				var addrs []string
				for i := range c.addrs {
					addrs = append(addrs, string(rune('a'+i)))
				}
				var accepted, closed atomic.Int32
				begun := time.Now()
				conn, err := race(ctx, addrs, func(ctx context.Context, addr string) (net.Conn, error) {
					a := c.addrs[addr[0]-'a']
					if a.takes == 0 {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					time.Sleep(a.takes) // even if nobody waits for it any more
					if a.refuses != nil {
						return nil, a.refuses
					}
					accepted.Add(1)
					return connection{addr: addr, closed: &closed}, nil
				})
				got := ""
				if conn != nil {
					got = conn.(connection).addr
				}
				if took := time.Since(begun); got != c.want || !errors.Is(err, c.err) || took != c.took {
					t.Errorf("got %q, %v after %v; want %q, %v after %v", got, err, took, c.want, c.err, c.took)
				}
				time.Sleep(limit)
				if got != "" && closed.Load() != accepted.Load()-1 {
					t.Errorf("%d of %d connections were closed", closed.Load(), accepted.Load())
				}
			})
		})
	}
}

// A connection is to an address.
type connection struct {
	net.Conn
	addr   string
	closed *atomic.Int32
}

func (c connection) Close() error { c.closed.Add(1); return nil }
