//go:build bench && linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/bench/conditions"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

const (
	// defaultTTL is that of leaderrun.
	defaultTTL = 15 * time.Second
	// handOvers are measured in each queue at most, for turn at most.
	handOvers, turn = 100, time.Minute
	// arriving is how many contenders enter a queue at the same time.
	arriving = 16
)

// TestSizes measures hand-overs on each store among 10, 100 and 1,000 waiters, and what a waiter
// sends while nothing happens. All contenders are in this process, as no machine has room for
// thousands of programs: what counts is the store, and how leaderrun uses it. Then a host holds a
// thousand locks. It writes SIZES.md.
func TestSizes(t *testing.T) {
	c := conditions.Begin()
	var page strings.Builder
	page.WriteString("| store | waiters | hand-overs | p50, p99, longest, ms | a waiter a minute: connections, messages sent, kB sent, kB received |\n|---|--:|--:|--:|--:|\n")
	sizes, lines := []int{10, 100, 1000}, 0
	for _, start := range storeKinds {
		s := start(t)
		for _, waiters := range sizes {
			t.Run(fmt.Sprint(s.name, waiters), func(t *testing.T) {
				q := &queue{t: t, store: s, lock: fmt.Sprint("size-", waiters)}
				of := "–"
				if waiters == 10 {
					of = q.idle(waiters)
				}
				gaps := q.measure(waiters)
				line := fmt.Sprintf("| %s | %d | %d | %.1f, %.1f, %.1f | %s |\n", s.name, waiters, len(gaps), gaps.median(), gaps.quantile(0.99), slices.Max(gaps), of)
				t.Log(line)
				page.WriteString(line)
				lines++
			})
		}
	}
	t.Run("thousand", func(t *testing.T) {
		page.WriteString("\n## A host with a thousand locks\n\n")
		page.WriteString(newBench(t).thousand(t))
		lines++
	})
	t.Log(page.String())
	if t.Failed() || lines < len(storeKinds)*len(sizes)+1 {
		return
	}
	c.End()
	head := "# Hand-overs by the number of waiters\n\nWritten by `make sizes`; what is measured, and how, is in the documentation of TestSizes.\n\n" + c.String() + "\n"
	if err := os.WriteFile("SIZES.md", []byte(head+page.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A queue is the contenders for one lock.
type queue struct {
	t *testing.T
	store
	lock string

	mu       sync.Mutex
	holders  int
	token    uint64
	released time.Time // when the last holder began to release; zero before the first
	gaps     sample
	meter    meter
}

// fill makes somebody hold the lock, and others wait for it.
func (q *queue) fill(ctx context.Context, waiters int) (holder *keepalive.Lease, all []*queued) {
	first := q.begin(ctx, nil)
	if holder = <-first.granted; holder == nil {
		q.t.FailNow()
	}
	all = append(all, first)
	for i := range waiters {
		all = append(all, q.begin(ctx, q.turn))
		<-all[max(0, i-arriving)].waiting
	}
	for _, w := range all {
		<-w.waiting
	}
	return holder, all
}

// idle returns what a waiter uses in a minute, with the holder's share.
func (q *queue) idle(waiters int) string {
	defer func(addr string) { q.addr = addr }(q.addr)
	q.addr = q.meter.start(q.t, q.addr)
	ctx, cancel := context.WithCancel(q.t.Context())
	holder, all := q.fill(ctx, waiters)
	time.Sleep(2 * renewal)
	before := q.meter.read()
	time.Sleep(window)
	after := q.meter.read()
	cancel()
	for _, w := range all[1:] {
		<-w.over
	}
	q.took(holder)
	q.turn(holder)
	q.released = time.Time{} // nobody waits
	n := float64(len(all))
	return fmt.Sprintf("%.1f, %.0f, %.1f, %.1f", (after[0]-before[0])/n, (after[1]-before[1])/n, (after[2]-before[2])/n/1000, (after[3]-before[3])/n/1000)
}

// measure returns the times of hand-overs.
func (q *queue) measure(waiters int) (gaps sample) {
	ctx, cancel := context.WithCancel(q.t.Context())
	defer cancel()
	holder, all := q.fill(ctx, waiters)
	q.took(holder)
	q.turn(holder)
	for end := time.Now().Add(turn); ; time.Sleep(10 * time.Millisecond) {
		q.mu.Lock()
		gaps = slices.Clone(q.gaps)
		q.mu.Unlock()
		if len(gaps) >= min(handOvers, waiters) || time.Now().After(end) {
			break
		}
	}
	cancel()
	for _, w := range all {
		<-w.over
	}
	if len(gaps) == 0 {
		q.t.Fatalf("nobody has led for %v", turn)
	}
	return gaps[:min(len(gaps), handOvers)]
}

// A queued is one contender.
type queued struct {
	waiting chan struct{} // closed when it waits, or no longer waits
	granted chan *keepalive.Lease
	over    chan struct{}
}

// begin lets another contend. When it leads, it does what it has to, or else only says so.
func (q *queue) begin(ctx context.Context, lead func(*keepalive.Lease)) *queued {
	w := &queued{waiting: make(chan struct{}), granted: make(chan *keepalive.Lease, 1), over: make(chan struct{})}
	waits := sync.OnceFunc(func() { close(w.waiting) })
	l := q.handle(q.t, q.addr, locks.Options{Name: q.lock, Holder: "size", TTL: defaultTTL, ConnectTimeout: time.Minute, Waiting: func(locks.Waiting) { waits() }})
	q.t.Cleanup(func() { _ = l.Close() }) // nothing is held any more
	go func() {
		defer close(w.over)
		defer waits()
		lease, err := keepalive.Acquire(ctx, l, false, keepalive.Options{Interval: keepalive.Interval(defaultTTL), Attempt: keepalive.Limit(defaultTTL)})
		if err == nil && lead != nil {
			q.took(lease)
			lead(lease)
		}
		if err != nil && ctx.Err() == nil {
			q.t.Errorf("a contender has failed: %v", err)
		}
		w.granted <- lease
	}()
	return w
}

// took records that a contender leads.
func (q *queue) took(lease *keepalive.Lease) {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.holders++; q.holders > 1 {
		q.t.Errorf("%d holders at the same time", q.holders)
	}
	if token := lease.Grant().Token; token <= q.token {
		q.t.Errorf("token %d was followed by %d", q.token, token)
	}
	q.token = lease.Grant().Token
	if !q.released.IsZero() {
		q.gaps = append(q.gaps, ms(now.Sub(q.released)))
	}
}

// turn ends a term at once.
func (q *queue) turn(lease *keepalive.Lease) {
	q.mu.Lock()
	q.holders--
	q.released = time.Now()
	q.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := lease.Release(ctx); err != nil && !errors.Is(err, context.Canceled) {
		q.t.Error(err)
	}
}

// A meter is a proxy that counts connections, and what clients send, in writes and bytes, and
// receive.
type meter struct{ connections, messages, sent, received atomic.Int64 }

// start returns the address of a proxy of a server.
func (m *meter) start(t *testing.T, server string) (addr string) {
	t.Helper()
	return drive.Listen(t, func(client net.Conn) {
		m.connections.Add(1)
		up, err := net.Dial("tcp", server)
		if err != nil {
			_ = client.Close()
			return
		}
		go relayed(client, up, &m.received, new(atomic.Int64))
		relayed(up, client, &m.sent, &m.messages)
	})
}

// relayed copies what one side says to the other, and counts it.
func relayed(to, from net.Conn, bytes, messages *atomic.Int64) {
	defer func() { _ = to.Close(); _ = from.Close() }()
	for buffer := make([]byte, 1<<16); ; {
		n, err := from.Read(buffer)
		bytes.Add(int64(n))
		messages.Add(1)
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (m *meter) read() [4]float64 {
	return [4]float64{float64(m.connections.Load()), float64(m.messages.Load()), float64(m.sent.Load()), float64(m.received.Load())}
}
