//go:build bench && linux

package bench

import (
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
)

const (
	// renewal is R at the default ttl of 15 s.
	renewal = 3 * time.Second
	// crowd is how many waiters are watched at once. One waiter alone makes so few requests
	// that they would be lost in rounding.
	crowd = 10
	// window is how long requests are counted.
	window = time.Minute
)

// requests counts the requests to etcd by holders and waiters while nothing happens. Each
// party has its own server, and all are watched at the same time.
func (b *bench) requests(t *testing.T) section {
	ours, peer := b.leaderrun(), b.lock()
	var servers []*etcdtest.Server
	for _, party := range []struct {
		contender
		waiters int
	}{{ours, 0}, {ours, crowd}, {peer, 0}, {peer, crowd}} {
		server := etcdtest.Start(t, etcdtest.Options{})
		b.queueUp(t, server, party.contender, 1+party.waiters)
		servers = append(servers, server)
	}
	counts := count(servers)
	holder, peerHolder := counts[0], counts[2]
	waiter, peerWaiter := counts[1].minus(holder).per(crowd), counts[3].minus(peerHolder).per(crowd)
	others := waiter.without("LeaseKeepAlive", "Watch")
	return section{
		title: fmt.Sprintf("Requests to etcd a minute, while nothing happens, at the default ttl (R = %v)", renewal),
		commands: []string{
			command{argv: append(ours.argv("bench"), "sleep", "1000")}.shown(),
			command{argv: append(peer.argv("bench"), "sleep", "1000")}.shown(),
		},
		figures: []figure{
			requestsFigure("a holder", holder.sum(), peerHolder.sum()),
			requestsFigure("a waiter beyond its watch and session", others.sum(), peerWaiter.without("LeaseKeepAlive", "Watch").sum()),
		},
		notes: []string{
			fmt.Sprintf("By method: a holder %v (etcdctl %v); a waiter, the mean of %d, %v (etcdctl %v). "+
				"They are counted in the server's own metrics for %v, as messages received: a request on a stream counts as much as one outside.",
				holder, peerHolder, crowd, waiter, peerWaiter, window),
		},
	}
}

// requestsFigure has no limit: a read confirms each renewal, which etcdctl goes without.
func requestsFigure(what string, ours, peer float64) figure {
	return figure{what: what, unit: "requests", ours: sample{ours}, peer: sample{peer}}
}

// queueUp starts n contenders, one of which gets the lock.
func (b *bench) queueUp(t *testing.T, server *etcdtest.Server, c contender, n int) {
	client := server.Client()
	defer client.Close()
	r := relay{bench: b}
	for i := range n {
		cmd := b.prepare(on(server, c.argv("bench"), "sleep", "1000"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { endTree(cmd) })
		r.awaitKeys(t, client, c.prefix("bench"), i+1)
	}
}

// endTree kills a command and what it started, so that nothing in the queue advances
// while the rest is ended.
func endTree(cmd *exec.Cmd) {
	for _, pid := range tree(cmd.Process.Pid) {
		_ = unix.Kill(pid, unix.SIGKILL) // may have ended with its parent
	}
	_ = cmd.Wait() // it was killed
}

// counters are requests by method.
type counters map[string]float64

// count begins to count when things have settled: requests after the start do not belong
// to those per minute.
func count(servers []*etcdtest.Server) (all []counters) {
	time.Sleep(2 * renewal)
	for _, s := range servers {
		all = append(all, read(s))
	}
	time.Sleep(window)
	for i, s := range servers {
		all[i] = read(s).minus(all[i])
	}
	return all
}

var counted = regexp.MustCompile(`(?m)^grpc_server_(msg_received|handled)_total\{.*grpc_method="(\w+)",.*grpc_type="(\w+)"\} (\S+)$`)

// read returns the messages received, by method. The server counts the end of a stream as
// one more message, which read subtracts.
func read(server *etcdtest.Server) counters {
	c := counters{}
	for _, m := range counted.FindAllStringSubmatch(server.Metrics(), -1) {
		var n float64
		_, _ = fmt.Sscan(m[4], &n) // the server prints numbers
		switch {
		case m[1] == "msg_received":
			c[m[2]] += n
		case m[3] == "bidi_stream":
			c[m[2]] -= n
		}
	}
	return c
}

func (c counters) minus(d counters) counters {
	r := counters{}
	for method, n := range c {
		if n != d[method] {
			r[method] = n - d[method]
		}
	}
	return r
}

func (c counters) per(n float64) counters {
	r := counters{}
	for method := range c {
		r[method] = c[method] / n
	}
	return r
}

func (c counters) without(methods ...string) counters {
	r := maps.Clone(c)
	maps.DeleteFunc(r, func(method string, _ float64) bool { return slices.Contains(methods, method) })
	return r
}

func (c counters) sum() (sum float64) {
	for _, n := range c {
		sum += n
	}
	return sum
}

func (c counters) String() string {
	var parts []string
	for _, method := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%s %.3g", method, c[method]))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
