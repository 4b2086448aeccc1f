//go:build bench && linux

package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

// handOver measures from a job's last instruction to the next job's first, through a
// chain of waiters that are already in the queue.
func (b *bench) handOver(t *testing.T) section {
	r := &relay{bench: b, server: etcdtest.Start(t, etcdtest.Options{}), job: buildStamp(t), ours: b.leaderrun(), peer: b.lock()}
	r.addr = r.server.Addr()
	s := section{
		title: "Hand-over on etcd: from a job's last instruction to the next job's first",
		commands: []string{
			on(r.server, r.ours.argv("relay"), "stamp").shown(),
			on(r.server, r.peer.argv("relay"), "stamp").shown(),
		},
		notes: []string{"N waiters are in the queue before the first holder ends; chains of the two sides alternate. " +
			"The median of pairs' ratios is that of the chains' medians. " +
			"The job is a static program that stamps the boot clock with its first instruction and when it ends."},
	}
	s.figures = []figure{
		r.figure(t, "10 waiters", 10, 10, 0),
		r.figure(t, "50 waiters", 50, 5, 1.15),
		r.figure(t, "200 waiters", 200, 3, 0),
		r.figure(t, "500 waiters", 500, 1, 0),
	}
	r.hold = "200ms"
	s.figures = append(s.figures, r.figure(t, "50 waiters, jobs of 200 ms", 50, 3, 0.9))
	r.hold = ""
	proxy := faultproxy.New(t, r.addr)
	proxy.Delay(time.Millisecond)
	r.addr = proxy.Addr()
	s.figures = append(s.figures, r.figure(t, "10 waiters, over a network of 1 ms each way", 10, 10, 0))
	return s
}

// A relay hands a lock from job to job.
type relay struct {
	*bench
	server *etcdtest.Server
	addr   string // of the server or its proxy
	job    string
	ours   contender
	peer   contender
	hold   string // how long a job takes; "": it ends at once
	chains int
}

// figure compares chains of the two sides, which alternate.
func (r *relay) figure(t *testing.T, what string, waiters, rounds int, limit float64) figure {
	var ours, peer, ourMedians, peerMedians sample
	for range rounds {
		a, b := r.chain(t, r.ours, waiters), r.chain(t, r.peer, waiters)
		ours, ourMedians = append(ours, a...), append(ourMedians, a.median())
		peer, peerMedians = append(peer, b...), append(peerMedians, b.median())
	}
	f := versus(what, "ms", ours, peer, limit)
	f.pairs = ratios(ourMedians, peerMedians)
	return f
}

// chain queues waiters behind a holder, lets it go, and returns how long each hand-over
// took.
func (r *relay) chain(t *testing.T, c contender, waiters int) sample {
	r.chains++
	lock := "relay-" + strconv.Itoa(r.chains)
	dir := t.TempDir()
	stamps, gate := filepath.Join(dir, "stamps"), filepath.Join(dir, "gate")
	if err := os.WriteFile(stamps, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	r.rewind(t)
	start := func(env ...string) *exec.Cmd {
		job := through(r.addr, c.argv(lock), r.job)
		job.env = append(append(job.env, "STAMP_FILE="+stamps, "STAMP_HOLD="+r.hold), env...)
		cmd := r.prepare(job)
		cmd.Stderr = r.stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // still running only after a failure
		return cmd
	}
	all := []*exec.Cmd{start("STAMP_GATE=" + gate)}
	opened := openGate(t, gate)
	// Use a new client for each chain, so that none is connected while it runs.
	client := r.server.Client()
	for range waiters {
		all = append(all, start())
		// Not all at once, because on few cores they would not get connected in time.
		r.awaitKeys(t, client, c.prefix(lock), len(all)-8)
	}
	r.awaitKeys(t, client, c.prefix(lock), len(all))
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settle)
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range all {
		r.check(t, command{argv: cmd.Args}, cmd.Wait())
	}
	return gaps(t, stamps, len(all))
}

// settle is how long the last waiters in the queue may take to begin their watches, and
// the machine to become quiet.
const settle = time.Second

// openGate opens a FIFO for writing once the first job waits at the other end.
func openGate(t *testing.T, gate string) *os.File {
	t.Helper()
	var f *os.File
	await(t, "the first job", func() (done bool) {
		var err error
		f, err = os.OpenFile(gate, os.O_WRONLY|unix.O_NONBLOCK, 0)
		return err == nil
	})
	return f
}

// awaitKeys waits until n contenders are in the queue. One that gives up fails the test.
func (r *relay) awaitKeys(t *testing.T, client *clientv3.Client, prefix string, n int) {
	t.Helper()
	await(t, fmt.Sprintf("%d entries in the queue", n), func() bool {
		r.check(t, command{argv: []string{"a contender for", prefix}}, nil)
		resp, err := client.Get(context.Background(), prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		return int(resp.Count) >= n
	})
}

// await polls for at most a minute.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s after a minute", what)
		}
	}
}

// gaps reads the stamps of n jobs and returns the times between them, in ms. If two jobs
// overlap, the lock has failed.
func gaps(t *testing.T, path string, n int) (s sample) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	runs := make([]struct{ Start, End int64 }, n)
	if len(b) != binary.Size(runs) {
		t.Fatalf("got %d bytes of stamps, which are not those of %d jobs", len(b), n)
	}
	if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, runs); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(runs, func(a, b struct{ Start, End int64 }) int { return cmp.Compare(a.Start, b.Start) })
	for i := range runs[1:] {
		gap := runs[i+1].Start - runs[i].End
		if gap < 0 {
			t.Fatalf("two jobs ran at the same time, for %v", time.Duration(-gap))
		}
		s = append(s, ms(time.Duration(gap)))
	}
	return s
}

// buildStamp builds the job.
func buildStamp(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stamp")
	cmd := exec.Command("go", "build", "-tags", "bench", "-trimpath", "-ldflags", "-s -w -E main.entry", "-o", path, "./stamp")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}
