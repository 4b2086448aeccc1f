package zookeeper_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// TestCounterOverflows uses a queue whose counter overflows. Servers since 3.6 then repeat
// the last number, and give the one after it only while they process several requests.
// Contenders still get the lock in the order of their arrival.
func TestCounterOverflows(t *testing.T) {
	t.Parallel()
	trial.Steady(t, func(t testing.TB, _ int) { counterOverflows(t) }) // nothing renews the sessions
}

func counterOverflows(t testing.TB) {
	s := zktest.Start(t, zktest.Options{})
	op := operate(t, &root{Server: s})
	const queue = "/p/jobs%2Fnightly"
	op.put(queue, "leaderrun queue")
	op.put(queue+"/last", "")
	op.conn.Close() // reconnected to a server that starts, it can wait for minutes
	s.SetCounter(queue+"/last", math.MaxInt32-1)
	op = operate(t, &root{Server: s})

	o := options("c0")
	o.TTL = time.Minute
	first := open(t, s.URL()+"/p", o)
	token := drive.Hold(t, first).Token
	const waiters = 5
	handles, ends := []locks.Lock{first}, []<-chan drive.Result{nil}
	for i := range waiters {
		if i == 3 { // a name with the next number, as a busy server gives
			late(t, op, queue)
		}
		o.Holder = fmt.Sprint("c", i+1)
		l, done := campaign(drive.Context(t), t, s.URL()+"/p", o)
		handles, ends = append(handles, l), append(ends, done)
	}
	var numbers []string
	for _, name := range op.entries(queue) {
		numbers = append(numbers, number(name))
	}
	slices.Sort(numbers)
	want := []string{"-2147483648", "2147483646", "2147483647", "2147483647", "2147483647", "2147483647", "2147483647", "last"}
	if !slices.Equal(numbers, want) {
		t.Fatalf("the numbers are %q; want %q: this tests nothing", numbers, want)
	}
	state := drive.Inspect(t, handle(t, s.URL()+"/p", options("w")))
	for i, p := range state.Queue {
		if i != 3 && p.Holder != fmt.Sprint("c", i+1-i/4) {
			t.Errorf("position %d is that of %q", i+1, p.Holder)
		}
	}
	for i, l := range handles {
		if i == 4 {
			nobodyLeads(t, ends[4:])
			op.delete(queue + "/stranger-n_-2147483648")
		}
		if i > 0 {
			nobodyLeads(t, ends[i+1:])
			r := drive.Within(t, drive.Patience, ends[i])
			if r.Err != nil || r.Grant.Token <= token {
				t.Fatalf("contender %d got %+v, %v; the one before had the token %d", i, r.Grant, r.Err, token)
			}
			token = r.Grant.Token
		}
		drive.Release(t, l)
	}
}

// late creates a node with the name that a busy server gives after the last number.
func late(t testing.TB, op operator, queue string) {
	t.Helper()
	if err := op.Create(queue+"/stranger-n_-2147483648", []byte("{}"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
}

func nobodyLeads(t testing.TB, ends []<-chan drive.Result) {
	t.Helper()
	for i, done := range ends {
		select {
		case r := <-done:
			t.Fatalf("the contender %d positions after the next has ended: %+v, %v", i+1, r.Grant, r.Err)
		default:
		}
	}
}
