package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/pgtest"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// TestKinds checks what each error means for a write.
func TestKinds(t *testing.T) {
	t.Parallel()
	s := &store{pool: &pool{settings: &settings{schema: "public"}}}
	condition := func(severity, code string) error {
		return &pgconn.PgError{SeverityUnlocalized: severity, Code: code, Message: "m"}
	}
	for _, tt := range []struct {
		err  error
		want causes.Kind
	}{
		{condition("ERROR", "40001"), causes.Changed},
		{condition("ERROR", "40P01"), causes.Changed},
		{condition("ERROR", "40003"), causes.Unknown},
		{condition("ERROR", "53100"), causes.Unsent},
		{condition("ERROR", "53300"), causes.Throttled},
		{condition("ERROR", "57014"), causes.Unsent},
		{condition("ERROR", "25006"), causes.Unreachable},
		{condition("ERROR", "42501"), causes.Denied},
		{condition("ERROR", "42703"), causes.Refused},
		{condition("ERROR", "22P05"), causes.Refused},
		{condition("ERROR", "XX000"), causes.Unsent},
		{condition("ERROR", "08006"), causes.Unknown},
		{condition("FATAL", "57P01"), causes.Unknown}, // the write may have taken effect before
		{condition("FATAL", "53100"), causes.Unknown},
		{condition("PANIC", "53100"), causes.Unknown},
		{errors.New("unexpected EOF"), causes.Unknown},
		{context.DeadlineExceeded, causes.Unknown},
		{&warnedError{"w"}, causes.Unknown},
		{errStandby, causes.Unreachable},
		{errPooled, causes.Refused},
		{&net.OpError{Op: "dial", Err: os.ErrNotExist}, causes.Unreachable},
		{&net.OpError{Op: "read", Err: os.ErrNotExist}, causes.Unknown},
	} {
		if got := s.Fault(tt.err).Kind; got != tt.want {
			t.Errorf("%v (%T) is of the kind %d; want %d", tt.err, tt.err, got, tt.want)
		}
	}
}

// TestLeastRights checks that the hint for missing permissions has statements after which
// the user may do everything that a run does.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	server.Exec("CREATE ROLE runner LOGIN", "CREATE SCHEMA ops")
	s := openStore(t, server.URLAs("runner")+"&schema=ops")
	ctx := storetest.Within(t, realserver.Ready)
	_, err := s.Swap(ctx, jobs, caslease.Cell{}, caslease.Value{State: "{}"})
	_, todo, _ := strings.Cut(storetest.IsKind(t, s, err, causes.Denied).Hint, "to run: ")
	if !strings.HasPrefix(todo, "CREATE TABLE") {
		t.Fatalf("the hint is %q", todo)
	}
	create, grants, _ := strings.Cut(todo, "; ")
	server.Exec(create)
	_, err = s.Read(ctx, jobs)
	storetest.IsKind(t, s, err, causes.Denied)
	for grant := range strings.SplitSeq(grants, "; ") {
		server.Exec(grant)
	}
	c := storetest.Must(t)(s.Swap(ctx, jobs, caslease.Cell{}, caslease.Value{State: "{}"}))
	c = storetest.Must(t)(s.Swap(ctx, jobs, c, caslease.Value{State: "{2}"}))
	server.Exec("ALTER TABLE ops.leaderrun_locks SET UNLOGGED")
	findings(t, s, "fsync", locks.LevelError, "is UNLOGGED")
	server.Exec("ALTER TABLE ops.leaderrun_locks SET LOGGED")
	findings(t, s, "fsync", locks.LevelOK, "fsync is on")
	server.Exec("REVOKE DELETE ON ops.leaderrun_locks FROM runner")
	storetest.IsKind(t, s, s.Delete(ctx, jobs, c), causes.Denied)
}

// probe asks the servers once.
func probe(t *testing.T, s *store) locks.Servers {
	t.Helper()
	found, err := s.Probe(storetest.Within(t, realserver.Ready), func(ctx context.Context, request func(context.Context) error) *locks.Error {
		if err := request(ctx); err != nil {
			return &locks.Error{Class: locks.ErrUnavailable, Err: err}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// findings checks one finding of a probe.
func findings(t *testing.T, s *store, check, level, text string) {
	t.Helper()
	for _, f := range probe(t, s).Findings {
		if f.Check == check {
			if f.Level != level || !strings.Contains(f.Text, text) {
				t.Errorf("the finding is %+v; want level %s, and %q", f, level, text)
			}
			return
		}
	}
	t.Errorf("there is no finding about %s", check)
}

// TestCannotConnect checks the hint of each error that prevents a connection.
func TestCannotConnect(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Auth: []string{"host all locked 127.0.0.1/32 scram-sha-256", "host all banned 127.0.0.1/32 reject"}})
	server.Exec("CREATE ROLE locked LOGIN PASSWORD 'right'", "CREATE ROLE banned LOGIN", "CREATE ROLE full LOGIN CONNECTION LIMIT 0",
		"CREATE ROLE reader LOGIN", "ALTER ROLE reader SET default_transaction_read_only = on")
	for address, want := range map[string]struct {
		kind causes.Kind
		hint string
	}{
		server.URLAs("locked:wrong"):                                           {causes.Denied, "PGPASSWORD"},
		strings.Replace(server.URLAs("locked:wrong"), "disable", "prefer", 1):  {causes.Denied, "PGPASSWORD"}, // the server also refuses TLS
		server.URLAs("banned"):                                                 {causes.Denied, "pg_hba.conf"},
		server.URL() + "&options=-c%20nosuch%3D1":                              {causes.Refused, "what options="}, // SQLSTATE 42704
		server.URLAs("nobody"):                                                 {causes.Denied, "PGUSER"},
		server.URLAs("full"):                                                   {causes.Throttled, "CONNECTION LIMIT"},
		server.URLAs("reader"):                                                 {causes.Unreachable, "accepts writes"},
		strings.Replace(server.URL(), "/postgres", "/none", 1):                 {causes.Refused, "name of the database"},
		strings.Replace(server.URL(), server.Addr(), "127.0.0.1:1", 1):         {causes.Unreachable, "PGHOST"},
		strings.Replace(server.URL(), "sslmode=disable", "sslmode=require", 1): {causes.Unreachable, "sslmode"},
	} {
		s := openStore(t, address)
		_, err := s.Read(storetest.Within(t, realserver.Ready), jobs)
		if f := storetest.IsKind(t, s, err, want.kind); !strings.Contains(f.Hint, want.hint) || strings.Contains(f.Text, "wrong") {
			t.Errorf("%s: %+v; want a hint with %q", address, f, want.hint)
		}
	}
	s := openStore(t, server.URL()+"&schema=none")
	_, err := s.Swap(storetest.Within(t, realserver.Ready), jobs, caslease.Cell{}, caslease.Value{State: "{}"})
	if f := storetest.IsKind(t, s, err, causes.Misnamed); !strings.Contains(f.Hint, `CREATE SCHEMA "none"`) {
		t.Errorf("without the schema: %+v", f)
	}
	storetest.Must(t)(openStore(t, server.URLAs("locked:right")).Read(storetest.Within(t, realserver.Ready), jobs))
	s = openStore(t, server.URL())
	storetest.Create(t, s, jobs)
	server.Exec("ALTER TABLE leaderrun_locks RENAME COLUMN text TO txt")
	_, err = s.Read(storetest.Within(t, realserver.Ready), jobs)
	if f := storetest.IsKind(t, s, err, causes.Refused); f.Hint != s.hintTable() {
		t.Errorf("with another table: %+v", f)
	}
}

// TestEndedWhileIdle checks that no request fails because the server has closed the idle
// connection.
func TestEndedWhileIdle(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openStore(t, server.URL()+"&options=-c%20idle_session_timeout%3D3s%20-c%20idle_in_transaction_session_timeout%3D3s")
	c := storetest.Create(t, s, jobs)
	for _, end := range []func(){
		func() {}, // the server's timeout ends it
		func() {
			server.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leaderrun'")
		},
		func() { server.Stop(); server.Start() },
	} {
		over := idleEnd(s)
		end()
		<-over
		c = storetest.Must(t)(s.Swap(storetest.Within(t, realserver.Ready), jobs, c, caslease.Value{State: "{}"}))
	}
}

// TestEndedMidway checks the kind of error of a write that is ended while it waits for a
// locked row.
func TestEndedMidway(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openStore(t, server.URL())
	c := storetest.Create(t, s, jobs)
	waits := " FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
	free := server.Hold("SELECT * FROM leaderrun_locks FOR UPDATE")
	for _, tt := range []struct {
		set, how string // the setting that ends the write, or the function
		want     causes.Kind
	}{
		{"", "pg_cancel_backend(pid)", causes.Unsent},
		{"", "pg_terminate_backend(pid)", causes.Unknown},
		{"lock_timeout = '1ms'", "", causes.Unsent},
		{"default_transaction_read_only = on", "", causes.Unreachable},
	} {
		if setting, value, ok := strings.Cut(tt.set, " = "); ok {
			storetest.Must(t)(s.Read(storetest.Within(t, realserver.Ready), jobs)) // on the existing connection
			server.Exec("ALTER SYSTEM SET "+tt.set, "SELECT pg_reload_conf()")
			server.Until("SELECT current_setting('" + setting + "') = " + "'" + strings.Trim(value, "'") + "'")
		}
		written := make(chan error, 1)
		go func() {
			_, err := s.Swap(storetest.Within(t, realserver.Ready), jobs, c, caslease.Value{State: "{}"})
			written <- err
		}()
		if tt.how != "" {
			server.Until("SELECT count(" + tt.how + ") > 0" + waits)
		}
		storetest.IsKind(t, s, <-written, tt.want)
	}
	server.Exec("ALTER SYSTEM RESET default_transaction_read_only", "ALTER SYSTEM RESET lock_timeout", "SELECT pg_reload_conf()")
	free()
	server.Until("SELECT current_setting('transaction_read_only') = 'off'")
	if now := storetest.Must(t)(s.Read(storetest.Within(t, realserver.Ready), jobs)); now.Version != c.Version {
		t.Errorf("the row has changed: %+v", now)
	}
}

// TestSerializable sets a stricter isolation, with which writers collide: a write then
// fails as changed, without effect.
func TestSerializable(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Settings: []string{"default_transaction_isolation = serializable"}})
	c := storetest.Create(t, openStore(t, server.URL()), jobs)
	var all sync.WaitGroup
	var mu sync.Mutex
	versions := map[string]bool{c.Version: true}
	for range 4 {
		s := openStore(t, server.URL())
		all.Go(func() {
			for wins := 0; wins < 20 && t.Context().Err() == nil; {
				at, err := s.Read(t.Context(), jobs)
				if err == nil {
					at, err = s.Swap(t.Context(), jobs, at, caslease.Value{State: "{}"})
				}
				if err != nil && s.Fault(err).Kind != causes.Changed {
					t.Error(err)
					return
				}
				if err != nil {
					continue
				}
				wins++
				mu.Lock()
				if versions[at.Version] {
					t.Errorf("two writes had the version %s", at.Version)
				}
				versions[at.Version] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(versions) != 81 {
		t.Errorf("there were %d versions; want 81", len(versions))
	}
}

// TestDiskFull checks that a write that fails for lack of disk space certainly had no
// effect, and that writes succeed when there is space.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	free := server.FillTablespace("small", 1<<20)
	s := openStore(t, server.URL()+"&options=-c%20default_tablespace%3Dsmall")
	ctx := storetest.Within(t, realserver.Ready)
	_, err := s.Swap(ctx, jobs, caslease.Cell{}, caslease.Value{State: "{}"})
	if f := storetest.IsKind(t, s, err, causes.Unsent); !strings.Contains(f.Hint, "disk is full") {
		t.Errorf("got %+v", f)
	}
	free()
	storetest.Create(t, s, jobs)
}

// TestHiddenWrites checks that a run which the table's policies or triggers keep from writing says
// so, although the server reports no error.
func TestHiddenWrites(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	lock := func(user string) locks.Lock {
		return drive.Open(t, Open, server.URLAs(user), locks.Options{Name: jobs.Name, TTL: time.Minute, ConnectTimeout: 5 * time.Second})
	}
	holder := lock(pgtest.User)
	drive.Hold(t, holder)
	drive.Release(t, holder)
	server.Exec("CREATE ROLE runner LOGIN", "GRANT SELECT, INSERT, UPDATE ON leaderrun_locks TO runner",
		"CREATE POLICY reading ON leaderrun_locks FOR SELECT USING (true)",
		"CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
	for change, back := range map[string]string{
		"ALTER TABLE leaderrun_locks ENABLE ROW LEVEL SECURITY":                                     "ALTER TABLE leaderrun_locks DISABLE ROW LEVEL SECURITY",
		"CREATE TRIGGER keep BEFORE UPDATE ON leaderrun_locks FOR EACH ROW EXECUTE FUNCTION keep()": "DROP TRIGGER keep ON leaderrun_locks",
	} {
		server.Exec(change)
		_, err := lock("runner").Acquire(storetest.Within(t, realserver.Ready), false)
		if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "as if the row had changed") || !strings.Contains(locks.Hint(err), "row-level security") {
			t.Errorf("%s: %v (hint: %s)", change, err, locks.Hint(err))
		}
		server.Exec(back)
	}
	drive.Hold(t, lock("runner"))
}

// TestFailover checks that a standby is refused, and skipped if the URL also names its
// server. After its promotion, its clock proves nothing about earlier leases.
func TestFailover(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	standby := server.Standby()
	ctx := storetest.Within(t, realserver.Ready)
	alone := openStore(t, standby.URL())
	_, err := alone.Read(ctx, jobs)
	if f := storetest.IsKind(t, alone, err, causes.Unreachable); f.Hint != hintStandby || f.Text != errStandby.Error() {
		t.Errorf("a standby: %+v", f)
	}
	s := openStore(t, strings.Replace(server.URL(), server.Addr(), standby.Addr()+","+server.Addr(), 1))
	c := storetest.Create(t, s, jobs)
	server.Until(fmt.Sprintf("SELECT replay_lsn >= '%s' FROM pg_stat_replication", server.Exec("SELECT pg_current_wal_lsn()")[0][0]))
	findings(t, s, "replication", locks.LevelWarning, "none of 1 standbys is synchronous")
	server.Exec("CREATE ROLE runner LOGIN") // who may not see the state of standbys
	findings(t, openStore(t, server.URLAs("runner")), "replication", locks.LevelWarning, "none of 1 standbys is synchronous")
	server.Exec("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (standby, other)'", "SELECT pg_reload_conf()")
	server.Until("SELECT sync_state = 'quorum' FROM pg_stat_replication")
	findings(t, s, "replication", locks.LevelWarning, "commits wait for ANY")
	server.Exec("ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()")
	server.Until("SELECT sync_state = 'sync' FROM pg_stat_replication")
	findings(t, s, "replication", locks.LevelOK, "commits wait for standby")
	findings(t, openStore(t, server.URLAs("runner")), "replication", locks.LevelWarning, "cannot be seen")
	server.Kill()
	standby.Exec("SELECT pg_promote()")
	after := storetest.Must(t)(s.Read(ctx, jobs))
	if after.Version != c.Version || !after.Updated.IsZero() {
		t.Errorf("after a failover the cell is %+v; it was %+v", after, c)
	}
	_, err = s.Swap(ctx, jobs, after, caslease.Value{State: "{}", MinAge: time.Microsecond})
	storetest.IsKind(t, s, err, causes.Changed)
	if c = storetest.Must(t)(s.Swap(ctx, jobs, after, caslease.Value{State: "{}"})); c.Floor <= after.Floor {
		t.Errorf("the version fell from %d to %d", after.Floor, c.Floor)
	}
	findings(t, s, "replication", locks.LevelOK, "no standby follows")
	server.Start()
	findings(t, s, "primary", locks.LevelError, "2 hosts are primaries")
}

// TestCopiesAreNoStandbys: what copies the log of the server, and cannot be promoted, is no standby,
// also if commits wait for it.
func TestCopiesAreNoStandbys(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Settings: []string{"wal_level = logical"}})
	s := openStore(t, server.URL())
	server.Copies()
	server.Until("SELECT count(*) = 2 FROM pg_stat_replication WHERE state = 'streaming'")
	findings(t, s, "replication", locks.LevelOK, "no standby follows")
	server.Exec("ALTER SYSTEM SET synchronous_standby_names = 'pg_recvlogical, standby'", "SELECT pg_reload_conf()")
	server.Until("SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
	server.Standby()
	server.Until("SELECT count(*) = 1 FROM pg_stat_replication WHERE application_name = 'standby' AND replay_lsn IS NOT NULL")
	findings(t, s, "replication", locks.LevelWarning, "none of 1 standbys is synchronous")
}

// TestSwitchedToStandby lends the store a connection to a standby, as a pooler does that has
// switched. A waiter only reads, and must leave it all the same; and a table that the standby
// lacks says nothing.
func TestSwitchedToStandby(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	standby := server.Standby()
	ctx := storetest.Within(t, realserver.Ready)
	for _, schema := range []string{"public", "none"} {
		s := openStore(t, pgtest.URLOf(pgtest.User, server.Addr(), standby.Addr())+"&schema="+schema)
		if schema == "public" {
			storetest.Create(t, s, jobs)
		}
		c, err := s.pool.connect(ctx, []string{standby.Addr()}, func(context.Context, *conn) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		drop(t, s)
		s.pool.put(c)
		_, err = s.Read(ctx, jobs)
		storetest.IsKind(t, s, err, causes.Unreachable)
		storetest.Must(t)(s.Read(ctx, jobs))
	}
}

// drop closes the store's idle connection.
func drop(t *testing.T, s *store) {
	t.Helper()
	c, err := s.pool.get(storetest.Within(t, realserver.Ready))
	if err != nil {
		t.Fatal(err)
	}
	c.close()
}

// TestAddresses checks that a store reaches a server although another address that the URL
// means does not answer, whatever connect_timeout is, and begins with the one that it reached.
func TestAddresses(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	_, port, _ := strings.Cut(server.Addr(), ":")
	off, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Skip(err) // not on Linux
	}
	t.Cleanup(func() { _ = off.Close() })
	for _, addrs := range [][]string{{"db:" + port}, {off.Addr().String(), server.Addr()}} {
		s := openStore(t, pgtest.URLOf(pgtest.User, addrs...)+"&connect_timeout=100")
		s.pool.search.Lookup = func(_ context.Context, host string) ([]string, error) {
			if host == "db" {
				return []string{"127.0.0.2", "127.0.0.1"}, nil
			}
			return []string{host}, nil
		}
		for _, within := range []time.Duration{8 * time.Second, 3 * time.Second} { // the first address would take half
			start := time.Now()
			storetest.Must(t)(s.Read(storetest.Within(t, within), jobs))
			if took := time.Since(start); within == 3*time.Second && took > within/2 {
				t.Errorf("%q: the second connection took %v", addrs, took)
			}
			drop(t, s)
		}
	}
}

// TestDemoted checks that a store leaves a primary that begins to refuse writes, although its
// connection stays open and reads go on.
func TestDemoted(t *testing.T) {
	t.Parallel()
	old, next := pgtest.Start(t, pgtest.Options{}), pgtest.Start(t, pgtest.Options{})
	s := openStore(t, pgtest.URLOf(pgtest.User, old.Addr(), next.Addr()))
	c := storetest.Create(t, s, jobs)
	old.Exec("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
	old.Until("SELECT current_setting('default_transaction_read_only') = 'on'")
	_, err := s.Swap(storetest.Within(t, realserver.Ready), jobs, c, caslease.Value{State: "{}"})
	storetest.IsKind(t, s, err, causes.Unreachable)
	storetest.Create(t, s, jobs)
	if rows := next.Exec("SELECT name FROM leaderrun_locks"); len(rows) != 1 {
		t.Errorf("the new primary has %v", rows)
	}
}

// TestTLS checks that certificates are verified as sslmode says, and read again for each
// connection.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca, other := realserver.NewCA(t), realserver.NewCA(t)
	cert, key := ca.Issue("server", realserver.Cert{Hosts: []string{"127.0.0.1"}, Lasts: 3 * time.Hour})
	server := pgtest.Start(t, pgtest.Options{
		TLS:  &pgtest.TLS{CertFile: cert, KeyFile: key, ClientCAFile: ca.CertFile},
		Auth: []string{"hostssl all guest 127.0.0.1/32 cert", "hostnossl all guest 127.0.0.1/32 reject"},
	})
	server.Exec("CREATE ROLE guest LOGIN")
	ours, oursKey := ca.Issue("guest", realserver.Cert{Lasts: 2 * time.Hour})
	address := func(user, mode, params string) string {
		return strings.Replace(server.URLAs(user), "sslmode=disable", "sslmode="+mode+params, 1)
	}
	for _, tt := range []struct {
		address string
		lasts   time.Duration // 0: it is refused
	}{
		{address(pgtest.User, "verify-full", "&sslrootcert="+ca.CertFile), 3 * time.Hour},
		{address(pgtest.User, "verify-ca", "&sslrootcert="+ca.CertFile), 3 * time.Hour},
		{address(pgtest.User, "verify-ca", "&sslrootcert="+other.CertFile), 0},
		{address("guest", "require", ""), 0},
		{address("guest", "verify-full", "&sslrootcert="+ca.CertFile+"&sslcert="+ours+"&sslkey="+oursKey), 2 * time.Hour},
	} {
		s := openStore(t, tt.address)
		_, err := s.Read(storetest.Within(t, realserver.Ready), jobs)
		if (err == nil) != (tt.lasts > 0) {
			t.Errorf("%s: %v", tt.address, err)
		}
		if err != nil {
			if f := s.Fault(err); f.Hint != hintTLS && f.Hint != hintLogin {
				t.Errorf("%s: %+v", tt.address, f)
			}
			continue
		}
		if m := probe(t, s).Servers[0]; m.TLS != "1.3" || (time.Until(m.Expires)-tt.lasts).Abs() > time.Minute {
			t.Errorf("%s: %+v", tt.address, m)
		}
		if tt.lasts == 2*time.Hour { // the file is being replaced
			whole, err := os.ReadFile(ours)
			if err != nil {
				t.Fatal(err)
			}
			connects := func(text []byte) error {
				if err := os.WriteFile(ours, text, 0o600); err != nil {
					t.Fatal(err)
				}
				_, err := s.pool.connect(storetest.Within(t, realserver.Ready), s.pool.settings.hosts, func(context.Context, *conn) error { return nil })
				return err
			}
			storetest.IsKind(t, s, connects(nil), causes.Unsent)
			if err := connects(whole); err != nil {
				t.Errorf("with the whole file: %v", err)
			}
		}
	}
}
