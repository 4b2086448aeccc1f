package mysql

import (
	"context"
	"errors"
	"net"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/mysql/mysqltest"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/rows/rowstest"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// openStore opens the store of a URL.
func openStore(t testing.TB, u *url.URL) *store {
	t.Helper()
	s, err := parse(u, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	st := newStore(s, 10*time.Second)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// at opens the store of an address.
func at(t testing.TB, address string) *store {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return openStore(t, u)
}

var jobs = caslease.Key{Name: "jobs"}

// odd are settings that the backend does not depend on.
var odd = []string{
	"--autocommit=OFF", "--transaction-isolation=SERIALIZABLE", "--completion-type=CHAIN", "--default-time-zone=+05:00",
	"--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,EMPTY_STRING_IS_NULL", "--character-set-server=utf16", "--log-bin", "--binlog-format=MIXED",
}

// TestRows checks what all stores in SQL have in common.
func TestRows(t *testing.T) {
	rowstest.Run(t, rowstest.Config{
		Start: func(t *testing.T) (rowstest.Server, func() caslease.Store) {
			server := mysqltest.Start(t)
			return server, func() caslease.Store { return at(t, server.URL()) }
		},
		Age:  "UPDATE leaderrun_locks SET updated = updated - INTERVAL 1 HOUR",
		Fill: "INSERT INTO leaderrun_locks (name, part, version, first) SELECT CONCAT('!', seq), 0, 1, 1 FROM seq_1_to_200",
	})
}

func TestForgetDateBehind(t *testing.T) {
	t.Parallel()
	rowstest.ForgetDateBehind(t, mysqltest.Start(t), Open)
}

// TestReadOnly checks that a server with read_only refuses everything, even to a user who may
// write there, and on a connection that is open already; and that the next host is used.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	old, next := mysqltest.Start(t), mysqltest.Start(t)
	s, alone := at(t, mysqltest.URLOf(mysqltest.User, old.Addr(), next.Addr())), at(t, old.URL())
	ctx := storetest.Within(t, realserver.Ready)
	c := storetest.Create(t, s, jobs)
	for name, request := range map[string]func(*store) error{
		"read": func(s *store) error { _, err := s.Read(ctx, jobs); return err },
		"list": func(s *store) error { _, _, err := s.List(ctx, ""); return err },
		"swap": func(s *store) error { _, err := s.Swap(ctx, jobs, c, caslease.Value{State: "{}"}); return err },
		"create": func(s *store) error {
			_, err := s.Swap(ctx, caslease.Key{Name: "new"}, caslease.Cell{}, caslease.Value{State: "{}"})
			return err
		},
		"delete": func(s *store) error { return s.Delete(ctx, jobs, c) },
	} {
		storetest.Must(t)(alone.Read(ctx, jobs)) // opens a connection
		old.Exec("SET GLOBAL read_only = 1")
		for range 2 { // on this connection and on a new one
			if f := storetest.IsKind(t, alone, request(alone), causes.Unreachable); f.Hint != hintReplica {
				t.Errorf("%s: %+v", name, f)
			}
		}
		old.Exec("SET GLOBAL read_only = 0")
		if names := old.Exec("SELECT name, version FROM leaderrun_locks"); len(names) != 1 || names[0][1] != c.Version {
			t.Fatalf("%s: the table has %q", name, names)
		}
	}
	findings(t, alone, "primary", "") // there is one
	findings(t, s, "primary", "2 hosts accept writes")
	old.Exec("SET GLOBAL read_only = 1")
	findings(t, s, "primary", "")
	_, err := s.Swap(ctx, jobs, c, caslease.Value{State: "{}"})
	storetest.IsKind(t, s, err, causes.Unreachable)
	storetest.Create(t, s, jobs)
	next.Until("SELECT COUNT(*) = 1 FROM leaderrun_locks")
}

// TestInnodbReadOnly checks that a server with innodb_read_only, as a reader of Aurora has it, is
// skipped.
func TestInnodbReadOnly(t *testing.T) {
	t.Parallel()
	reader, writer := mysqltest.Start(t), mysqltest.Start(t)
	reader.Exec("SET GLOBAL innodb_fast_shutdown = 0") // otherwise it would not start without a write
	reader.Stop()
	reader.Args = append(reader.Args, "--innodb-read-only")
	reader.Start()
	alone := at(t, reader.URL())
	_, err := alone.Read(storetest.Within(t, realserver.Ready), jobs)
	if f := storetest.IsKind(t, alone, err, causes.Unreachable); f.Hint != hintReplica {
		t.Errorf("got %+v", f)
	}
	storetest.Create(t, at(t, mysqltest.URLOf(mysqltest.User, reader.Addr(), writer.Addr())), jobs)
	writer.Until("SELECT COUNT(*) = 1 FROM leaderrun_locks")
}

// TestNoTableOnReplica checks that a table which a replica lacks says nothing.
func TestNoTableOnReplica(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t)
	s := at(t, server.URL())
	ctx := storetest.Within(t, realserver.Ready)
	c, err := s.db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close() // it is kept
	server.Exec("SET GLOBAL read_only = 1")
	_, err = s.Read(ctx, jobs)
	storetest.IsKind(t, s, err, causes.Unreachable)
}

// TestAddresses checks that a name with several addresses leads to a server although the first
// does not answer, and that the next connection begins with the one that did.
func TestAddresses(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t)
	_, port, _ := strings.Cut(server.Addr(), ":")
	off, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Skip(err) // not on Linux
	}
	t.Cleanup(func() { _ = off.Close() })
	c := connector{settings: at(t, server.URL()).settings, hosts: []string{"db:" + port}, timeout: 8 * time.Second}
	c.search.Lookup = func(context.Context, string) ([]string, error) { return []string{"127.0.0.2", "127.0.0.1"}, nil }
	for _, most := range []time.Duration{8 * time.Second, 3 * time.Second} { // the first address would take 4 s
		start := time.Now()
		conn, err := c.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		if took := time.Since(start); took > most {
			t.Errorf("the connection took %v", took)
		}
	}
}

// TestStatementsOfALook: a waiter sends no more than three statements at each look.
func TestStatementsOfALook(t *testing.T) {
	t.Parallel()
	s := at(t, mysqltest.Start(t).URL())
	storetest.Create(t, s, jobs)
	ctx := storetest.Within(t, realserver.Ready)
	questions := func() (n int) {
		var name string
		if err := s.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const looks = 10
	before := questions()
	for range looks {
		storetest.Must(t)(s.Read(ctx, jobs))
	}
	if n := questions() - before - 1; n > 3*looks {
		t.Errorf("%d looks had %d statements", looks, n)
	}
}

// TestRest checks that a store that rests has no connection, and finds the server again.
func TestRest(t *testing.T) {
	t.Parallel()
	s := at(t, mysqltest.Start(t).URL())
	storetest.Create(t, s, jobs)
	if s.Rest(); s.db.Stats().OpenConnections != 0 {
		t.Error("a connection is left")
	}
	storetest.Must(t)(s.Read(storetest.Within(t, realserver.Ready), jobs))
}

// TestLostWrites checks that a holder whose acquire a failover has lost does not renew the term of
// whoever has acquired the lock since.
func TestLostWrites(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t)
	open := func(holder string) locks.Lock {
		o := locks.Options{Name: jobs.Name, Holder: holder, TTL: time.Minute, ConnectTimeout: realserver.Ready}
		return drive.Open(t, Open, server.URL(), o)
	}
	first, former, next := open("first"), open("former"), open("next")
	drive.Hold(t, first)
	drive.Release(t, first)
	server.Exec("CREATE TABLE replica AS SELECT * FROM leaderrun_locks")
	drive.Hold(t, former)
	server.Exec("REPLACE INTO leaderrun_locks SELECT * FROM replica")
	drive.Hold(t, next)
	before := server.Exec("SELECT * FROM leaderrun_locks")
	if err := former.Renew(drive.Context(t)); !errors.Is(err, locks.ErrLost) {
		t.Errorf("the former holder renews: %v; want ErrLost", err)
	}
	if after := server.Exec("SELECT * FROM leaderrun_locks"); !reflect.DeepEqual(after, before) {
		t.Errorf("the former holder has written\n%q\nover\n%q", after, before)
	}
	drive.Renew(t, next)
}

// TestEngine checks that a table without transactions is refused, with the statement that
// changes it.
func TestEngine(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t)
	s := at(t, server.URL())
	server.Exec(strings.Replace(s.settings.sql(tableSQL, nil), "InnoDB", "MyISAM", 1))
	_, err := s.Read(storetest.Within(t, realserver.Ready), jobs)
	_, fix, _ := strings.Cut(storetest.IsKind(t, s, err, causes.Refused).Hint, ": ")
	server.Exec(fix)
	storetest.Create(t, s, jobs)
}

// TestStatementReplication checks that a server is refused whose replicas would compute the
// times and the epoch of a row themselves.
func TestStatementReplication(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t, "--log-bin", "--binlog-format=STATEMENT")
	s := at(t, server.URL())
	_, err := s.Swap(storetest.Within(t, realserver.Ready), jobs, caslease.Cell{}, caslease.Value{State: "{}"})
	_, fix, _ := strings.Cut(storetest.IsKind(t, s, err, causes.Refused).Hint, "leases: ")
	server.Exec(fix)
	storetest.Create(t, at(t, server.URL()), jobs)
}

// TestRowLockedByOthers checks that the server ends a statement that we no longer wait for.
// Otherwise it would run when the row is free.
func TestRowLockedByOthers(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t)
	s := at(t, server.URL())
	c := storetest.Create(t, s, jobs)
	free := server.Hold("SELECT * FROM leaderrun_locks FOR UPDATE")
	_, err := s.Swap(storetest.Within(t, 300*time.Millisecond), jobs, c, caslease.Value{State: "{}"})
	if storetest.IsKind(t, s, err, causes.Unknown); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	storetest.Must(t)(s.Read(storetest.Within(t, realserver.Ready), jobs))          // neither reads
	if _, _, err := s.List(storetest.Within(t, realserver.Ready), ""); err != nil { // nor lists wait
		t.Error(err)
	}
	server.Until("SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE info LIKE 'UPDATE%'")
	free()
	if now := storetest.Must(t)(s.Read(storetest.Within(t, realserver.Ready), jobs)); now.Version != c.Version {
		t.Errorf("the row has changed: %+v", now)
	}
	free = server.Hold("SELECT * FROM leaderrun_locks FOR UPDATE")
	_, err = s.Swap(storetest.Within(t, 4900*time.Millisecond), jobs, c, caslease.Value{State: "{}"}) // the server gives up first
	if f := storetest.IsKind(t, s, err, causes.Unsent); f.Hint != hintLocked {
		t.Errorf("got %+v", f)
	}
	free()
	storetest.Must(t)(s.Swap(storetest.Within(t, realserver.Ready), jobs, c, caslease.Value{State: "{}"}))
}

// TestCommitWithoutAnswer checks that nothing is concluded from a commit that is not answered
// in time. This one waits for a semi-synchronous replica, and others read it already.
func TestCommitWithoutAnswer(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t, "--log-bin", "--rpl-semi-sync-master-timeout=3600000")
	s := at(t, server.URL())
	c := storetest.Create(t, s, jobs)
	server.Exec("SET GLOBAL rpl_semi_sync_master_enabled = ON")
	_, err := s.Swap(storetest.Within(t, time.Second), jobs, c, caslease.Value{State: `{"n":2}`})
	storetest.IsKind(t, s, err, causes.Unknown)
	server.Until(`SELECT state = '{"n":2}' FROM leaderrun_locks`)
	server.Exec("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
	if now := storetest.Must(t)(s.Read(storetest.Within(t, realserver.Ready), jobs)); now.State != `{"n":2}` {
		t.Errorf("the cell is %+v", now)
	}
}

// TestEndedWhileIdle checks that no request fails because the server has closed the idle
// connection, and that there is one connection.
func TestEndedWhileIdle(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t)
	server.Exec("CREATE USER app", "GRANT ALL ON *.* TO app") // whose connections are the store's
	s := at(t, mysqltest.URLOf("app", server.Addr()))
	c := storetest.Create(t, s, jobs)
	for _, end := range []func(){
		func() {
			idle := " FROM information_schema.processlist WHERE command = 'Sleep' AND user = 'app'"
			server.Until("SELECT COUNT(*) = 1" + idle) // it answers before it calls the connection idle
			ours := server.Exec("SELECT id" + idle)
			server.Exec("KILL " + ours[0][0])
			server.Until("SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE id = " + ours[0][0])
		},
		func() { server.Stop(); server.Start() },
	} {
		end()
		c = storetest.Must(t)(s.Swap(storetest.Within(t, realserver.Ready), jobs, c, caslease.Value{State: "{}"}))
	}
}

// TestSilentServer checks that a request without an answer ends with its context.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t)
	proxy := faultproxy.New(t, server.Addr())
	s := at(t, mysqltest.URLOf(mysqltest.User, proxy.Addr()))
	c := storetest.Create(t, s, jobs)
	for _, cut := range []func(){proxy.CutReplies, proxy.CutAll} {
		cut()
		_, err := s.Swap(storetest.Within(t, 300*time.Millisecond), jobs, c, caslease.Value{State: "{}"})
		if f := storetest.IsKind(t, s, err, causes.Unknown); f.Text != "" || f.Hint != "" {
			t.Errorf("no answer is reported as %+v", f)
		}
		proxy.Heal()
		c = storetest.Must(t)(s.Read(storetest.Within(t, realserver.Ready), jobs))
	}
	proxy.CutAll()
	fresh := at(t, mysqltest.URLOf(mysqltest.User, proxy.Addr()))
	_, err := fresh.Read(storetest.Within(t, 300*time.Millisecond), jobs)
	storetest.IsKind(t, fresh, err, causes.Unsent)
}
