package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/pgtest"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/rows/rowstest"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// openStore opens the store of a URL.
func openStore(t *testing.T, address string) *store {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s, err := parse(u, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	st := newStore(s, 10*time.Second, nil)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

var jobs = caslease.Key{Name: "jobs"}

// idleEnd returns a channel that is closed when the store notices that its idle connection
// has ended.
func idleEnd(s *store) <-chan struct{} {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.pool.idle.CleanupDone()
}

// TestRows checks what all stores in SQL have in common.
func TestRows(t *testing.T) {
	rowstest.Run(t, rowstest.Config{
		Start: func(t *testing.T) (rowstest.Server, func() caslease.Store) {
			server := pgtest.Start(t, pgtest.Options{})
			return server, func() caslease.Store { return openStore(t, server.URL()) }
		},
		Age:  "UPDATE leaderrun_locks SET updated = updated - interval '1 hour'",
		Fill: "INSERT INTO leaderrun_locks (name, part) SELECT '!' || n, 0 FROM generate_series(1, 200) n",
	})
}

func TestForgetDateBehind(t *testing.T) {
	t.Parallel()
	rowstest.ForgetDateBehind(t, pgtest.Start(t, pgtest.Options{}), Open)
}

// TestSynchronousCommit checks that writes wait for the disk and for synchronous standbys,
// whatever synchronous_commit is set to.
func TestSynchronousCommit(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	c := storetest.Create(t, openStore(t, server.URL()), jobs)
	server.Exec("CREATE TABLE seen (setting text)", `CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$`,
		"CREATE TRIGGER look BEFORE UPDATE ON leaderrun_locks FOR EACH ROW EXECUTE FUNCTION look()")
	for set, want := range map[string]string{"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply"} {
		server.Exec("TRUNCATE seen")
		s := openStore(t, server.URL()+"&options=-c%20synchronous_commit%3D"+set)
		c = storetest.Must(t)(s.Swap(storetest.Within(t, realserver.Ready), jobs, c, caslease.Value{State: "{}"}))
		if got := server.Exec("SELECT * FROM seen"); len(got) != 1 || got[0][0] != want {
			t.Errorf("with synchronous_commit = %s, a write used %q; want %s", set, got, want)
		}
	}
}

// TestCancelledWaitForStandby checks that a write does not count as acknowledged if
// somebody has cancelled its wait for a standby.
func TestCancelledWaitForStandby(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openStore(t, server.URL())
	c := storetest.Create(t, s, jobs)
	server.Exec("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
	written := make(chan error, 1)
	go func() { // writes do not wait before the setting has reached all processes of the server
		for n := 0; ; n++ {
			next, err := s.Swap(storetest.Within(t, realserver.Ready), jobs, c, caslease.Value{State: fmt.Sprintf(`{"n":%d}`, n)})
			if err != nil {
				written <- err
				return
			}
			c = next
		}
	}()
	server.Until("SELECT count(pg_cancel_backend(pid)) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	f := storetest.IsKind(t, s, <-written, causes.Unknown)
	if f.Hint != hintWarned {
		t.Errorf("the hint is %q", f.Hint)
	}
	l := caslease.New(s, traits(s.pool.settings), locks.Options{Name: "others", TTL: time.Minute, ConnectTimeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	go func() {
		_, err := l.Acquire(storetest.Within(t, realserver.Ready), true)
		written <- err
	}()
	cancelled := 0
	for err := error(nil); err == nil; {
		select {
		case err = <-written:
			if err == nil {
				t.Fatal("the lock was granted, and no standby has it")
			}
		default:
			n, _ := strconv.Atoi(server.Exec("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")[0][0])
			cancelled += n
		}
	}
	if cancelled < 2 {
		t.Errorf("%d waits were cancelled; want at least 2", cancelled)
	}
}

// TestOtherWarning checks that a write counts although the server warns about something else
// than a standby, as it does each write for the last 40 million transactions before a wraparound.
func TestOtherWarning(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openStore(t, server.URL())
	c := storetest.Create(t, s, jobs)
	server.Exec("CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'changed'; RETURN NEW; END $$",
		"CREATE TRIGGER warn BEFORE UPDATE ON leaderrun_locks FOR EACH ROW EXECUTE FUNCTION warn()")
	storetest.Must(t)(s.Swap(storetest.Within(t, realserver.Ready), jobs, c, caslease.Value{State: "{}"}))
}

// TestOthersNotify checks that a write that waits for a standby does not keep others from
// notifying.
func TestOthersNotify(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openStore(t, server.URL())
	c := storetest.Create(t, s, jobs)
	server.Exec("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() { // until one waits
		for err := error(nil); err == nil; {
			c, err = s.Swap(ctx, jobs, c, caslease.Value{State: "{}"})
		}
	})
	server.Until("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	server.Exec("SET synchronous_commit = off", "SET lock_timeout = '5s'", "NOTIFY others")
	cancel()
	writer.Wait()
}

// TestCopiedRows checks that rows which were copied into another table go on with rising
// versions, as after logical replication.
func TestCopiedRows(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	ctx := storetest.Within(t, realserver.Ready)
	old := storetest.Create(t, openStore(t, server.URL()), jobs)
	server.Exec("CREATE SCHEMA next", "CREATE TABLE next.leaderrun_locks (LIKE leaderrun_locks INCLUDING ALL)",
		"INSERT INTO next.leaderrun_locks OVERRIDING SYSTEM VALUE SELECT * FROM leaderrun_locks")
	s := openStore(t, server.URL()+"&schema=next")
	if c := storetest.Must(t)(s.Swap(ctx, jobs, storetest.Must(t)(s.Read(ctx, jobs)), caslease.Value{State: "{}"})); c.Floor <= old.Floor || c.First != old.First || c.Foreign != "" {
		t.Errorf("the copied row is %+v; it was %+v", c, old)
	}
}

// TestWatch checks that a watch reports changes, even those by other handles, but no
// renewals, and that it ends with the connection.
func TestWatch(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	holder, waiter := openStore(t, server.URL()), openStore(t, server.URL())
	ctx := storetest.Within(t, realserver.Ready)
	c := storetest.Create(t, holder, jobs)
	one, err := waiter.Watch(ctx, "jobs")
	if err != nil {
		t.Fatal(err)
	}
	all, err := waiter.Watch(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	storetest.Must(t)(holder.Swap(ctx, caslease.Key{Name: "others"}, caslease.Cell{}, caslease.Value{State: "{}"}))
	<-all
	c = storetest.Must(t)(holder.Swap(ctx, jobs, c, caslease.Value{State: "{}", Silent: true}))
	_, err = holder.Swap(ctx, jobs, caslease.Cell{}, caslease.Value{State: `{"n":1}`}) // it loses
	storetest.IsKind(t, holder, err, causes.Changed)
	storetest.Must(t)(waiter.Read(ctx, jobs)) // notifications sent before its answer have now arrived
	select {
	case <-one:
		t.Error("the watch reports a renewal, another lock, or a write without effect")
	default:
	}
	storetest.Must(t)(holder.Swap(ctx, caslease.Key{Name: "jobs", Part: caslease.Request}, caslease.Cell{}, caslease.Value{State: "{}"}))
	<-one
	if n := server.Exec("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'leaderrun'"); n[0][0] != "2" {
		t.Errorf("two handles have %s connections; want 2", n[0][0])
	}
	over := idleEnd(holder)
	server.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leaderrun'")
	for range one { // until the channel is closed
	}
	<-over
	again, err := waiter.Watch(ctx, "jobs")
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Delete(ctx, jobs, c); err != nil {
		t.Fatal(err)
	}
	<-again
}

// TestRowLockedByOthers checks that the server ends a statement that we no longer wait
// for. Otherwise it would run when the row is free.
func TestRowLockedByOthers(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openStore(t, server.URL())
	c := storetest.Create(t, s, jobs)
	free := server.Hold("SELECT * FROM leaderrun_locks FOR UPDATE")
	_, err := s.Swap(storetest.Within(t, 5*time.Second), jobs, c, caslease.Value{State: "{}"}) // the server gives up first
	storetest.IsKind(t, s, err, causes.Unsent)
	start := time.Now()
	server.Until("SELECT count(*) = 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
	if took := time.Since(start); took > realserver.Ready/2 {
		t.Errorf("the statement stayed for %v", took)
	}
	free()
	if now := storetest.Must(t)(s.Read(storetest.Within(t, realserver.Ready), jobs)); now.Version != c.Version {
		t.Errorf("the row has changed: %+v", now)
	}
}

// TestSilentServer checks that a connection without an answer is closed at once, and that
// this ends the watch.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openStore(t, server.URL())
	changes, err := s.Watch(storetest.Within(t, realserver.Ready), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	server.Pause()
	defer server.Resume()
	_, err = s.Read(storetest.Within(t, 300*time.Millisecond), jobs)
	if f := storetest.IsKind(t, s, err, causes.Unknown); f.Text != "" || f.Hint != "" {
		t.Errorf("no answer is reported as %+v", f)
	}
	start := time.Now()
	for range changes { // until the channel is closed
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the watch ended after %v", took)
	}
}

// TestConcurrentRequests checks that requests that hang do not block others.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openStore(t, server.URL())
	c := storetest.Create(t, s, jobs)
	free := server.Hold("SELECT * FROM leaderrun_locks FOR UPDATE")
	ctx := storetest.Within(t, realserver.Ready)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { _, _ = s.Swap(ctx, jobs, c, caslease.Value{State: "{}"}) }) // one of them succeeds
	}
	server.Until("SELECT count(*) = 3 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
	storetest.Must(t)(s.Read(ctx, jobs))
	free()
	all.Wait()
	server.Until("SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'leaderrun'")
}

// TestListenerIsKept checks that the pool keeps the connection that listens, whichever is
// returned last.
func TestListenerIsKept(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openStore(t, server.URL())
	ctx := storetest.Within(t, realserver.Ready)
	if _, err := s.Watch(ctx, ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		listener, err := s.pool.get(ctx)
		if err != nil || !listener.listening {
			t.Fatalf("got %+v, %v", listener, err)
		}
		other, err := s.pool.get(ctx)
		if err != nil {
			t.Fatal(err)
		}
		s.pool.put(listener)
		s.pool.put(other)
		if listener, err = s.pool.get(ctx); err != nil || !listener.listening {
			t.Fatalf("the listener was returned first, and is lost: %+v, %v", listener, err)
		}
		if other, err = s.pool.get(ctx); err != nil {
			t.Fatal(err)
		}
		s.pool.put(other)
		s.pool.put(listener)
	}
}

// TestRest checks that a store that rests has no connection, and finds the server again.
func TestRest(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openStore(t, server.URL())
	storetest.Create(t, s, jobs)
	s.Rest()
	server.Until("SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'leaderrun'")
	storetest.Must(t)(s.Read(storetest.Within(t, realserver.Ready), jobs))
}

// TestLongWatch receives more notifications than an answer may be long. The connection that
// only listens is kept.
func TestLongWatch(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openStore(t, server.URL())
	ctx := storetest.Within(t, realserver.Ready)
	changes, err := s.Watch(ctx, "last")
	if err != nil {
		t.Fatal(err)
	}
	over := idleEnd(s)
	channel := "pg_notify('" + s.pool.settings.channel() + "', "
	server.Exec("SELECT count("+channel+"n || repeat('x', 7900))) FROM generate_series(1, 5000) n", "SELECT "+channel+"'last')")
	select {
	case <-over:
		t.Error("the connection was closed")
	case _, ok := <-changes:
		if !ok {
			t.Error("the watch has ended")
		}
	}
}
