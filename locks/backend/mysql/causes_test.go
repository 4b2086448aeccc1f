package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/mysql/mysqltest"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// TestKinds checks what each error means for a write.
func TestKinds(t *testing.T) {
	t.Parallel()
	s := &store{settings: &settings{database: "d"}}
	server := func(number uint16) error { return &mysql.MySQLError{Number: number, Message: "m"} }
	for _, tt := range []struct {
		err  error
		want causes.Kind
	}{
		{server(1213), causes.Changed},
		{server(1205), causes.Unsent},
		{server(1317), causes.Unsent},
		{server(1142), causes.Denied},
		{&commitError{server(1213)}, causes.Unknown},
		{&commitError{server(1142)}, causes.Unknown},
		{&commitError{errReadOnly}, causes.Unknown},
		{&connectError{server(1040)}, causes.Throttled},
		{&connectError{context.DeadlineExceeded}, causes.Unsent},
		{&connectError{mysql.ErrInvalidConn}, causes.Unsent},
		{mysql.ErrInvalidConn, causes.Unknown},
		{driver.ErrBadConn, causes.Unsent}, // the driver returns it only if nothing was sent
		{context.DeadlineExceeded, causes.Unknown},
		{&net.OpError{Op: "dial", Err: os.ErrNotExist}, causes.Unreachable},
		{&net.OpError{Op: "read", Err: os.ErrNotExist}, causes.Unknown},
		{errors.New("?"), causes.Unknown},
	} {
		if got := s.Fault(tt.err).Kind; got != tt.want {
			t.Errorf("%v (%T) is of the kind %d; want %d", tt.err, tt.err, got, tt.want)
		}
	}
}

// TestLeastRights checks that the hint for missing permissions has statements after which the
// user may do everything that a run does.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t)
	server.Exec("CREATE USER runner", "GRANT USAGE ON locks.* TO runner", "CREATE TABLE other (n int)", "GRANT SELECT ON locks.other TO runner")
	s := at(t, mysqltest.URLOf("runner", server.Addr()))
	ctx := storetest.Within(t, realserver.Ready)
	_, err := s.Swap(ctx, jobs, caslease.Cell{}, caslease.Value{State: "{}"})
	_, todo, _ := strings.Cut(storetest.IsKind(t, s, err, causes.Denied).Hint, "to run: ")
	create, grant, _ := strings.Cut(todo, "; ")
	if !strings.HasPrefix(create, "CREATE TABLE") {
		t.Fatalf("the hint is %q", todo)
	}
	server.Exec(create)
	_, err = s.Read(ctx, jobs)
	storetest.IsKind(t, s, err, causes.Denied)
	server.Exec(grant)
	c := storetest.Must(t)(s.Swap(ctx, jobs, caslease.Cell{}, caslease.Value{State: "{}"}))
	c = storetest.Must(t)(s.Swap(ctx, jobs, c, caslease.Value{State: "{2}"}))
	server.Exec("REVOKE DELETE ON leaderrun_locks FROM runner")
	storetest.IsKind(t, s, s.Delete(ctx, jobs, c), causes.Denied)
}

// findings checks one finding of a probe. If text is "", there must be none.
func findings(t *testing.T, s *store, check, text string) {
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
	for _, f := range found.Findings {
		if f.Check == check && (text == "" || !strings.Contains(f.Text, text)) {
			t.Errorf("the finding is %+v; want %q", f, text)
		}
		if f.Check == check {
			return
		}
	}
	if text != "" {
		t.Errorf("there is no finding about %s: %+v", check, found)
	}
}

// TestDurability checks what doctor says about settings that can lose acknowledged writes.
func TestDurability(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t, "--log-bin")
	s := at(t, server.URL())
	findings(t, s, "durability", "sync_binlog is 0")
	findings(t, s, "replication", "none is semi-synchronous")
	server.Exec("SET GLOBAL innodb_flush_log_at_trx_commit = 2, sync_binlog = 1")
	findings(t, s, "durability", "innodb_flush_log_at_trx_commit is 2")
	server.Exec("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	findings(t, s, "durability", "is 1")
}

// TestSemiSync checks that doctor does not count on replicas that the server no longer waits for.
func TestSemiSync(t *testing.T) {
	t.Parallel()
	primary := mysqltest.Start(t, "--log-bin", "--server-id=1", "--rpl-semi-sync-master-enabled=ON")
	replica := mysqltest.Start(t, "--server-id=2", "--rpl-semi-sync-slave-enabled=ON")
	host, port, _ := strings.Cut(primary.Addr(), ":")
	replica.Exec("CHANGE MASTER TO master_host = '"+host+"', master_port = "+port+", master_user = '"+mysqltest.User+"', master_use_gtid = slave_pos", "START SLAVE")
	status := "SELECT COUNT(*) = 2 FROM information_schema.global_status WHERE (variable_name, variable_value) IN (('rpl_semi_sync_master_clients', '1'), ('rpl_semi_sync_master_status', '%s'))"
	primary.Until(fmt.Sprintf(status, "ON"))
	s := at(t, primary.URL())
	findings(t, s, "replication", "semi-synchronous now, to 1")
	primary.Exec("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
	primary.Until(fmt.Sprintf(status, "OFF"))
	findings(t, s, "replication", "is off, or has gone on")
}

// TestReplication checks what doctor says of replicas for which commits wait, or do not.
func TestReplication(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		replicas, clients, enough string // "": the server has no such variable
		level, text               string
	}{
		{"0", "0", "", locks.LevelWarning, "none is semi-synchronous"},
		{"2", "0", "", locks.LevelWarning, "2 replicas, and none is semi-synchronous"},
		{"1", "1", "", locks.LevelOK, "to 1"},
		{"2", "1", "", locks.LevelWarning, "wait for 1 of 2"},
		{"", "3", "2", locks.LevelWarning, "wait for 2 of 3"},
		{"", "2", "2", locks.LevelOK, "to 2"},
	} {
		var found locks.Servers
		host{facts: map[string]string{
			"log_bin": "ON", "rpl_semi_sync_source_status": "ON", "slaves_connected": tt.replicas,
			"rpl_semi_sync_source_clients": tt.clients, "rpl_semi_sync_source_wait_for_replica_count": tt.enough,
		}}.replication(&found)
		if f := found.Findings[0]; f.Level != tt.level || !strings.Contains(f.Text, tt.text) {
			t.Errorf("%+v: found %+v", tt, f)
		}
	}
}

// TestCannotConnect checks the hint of each error that prevents a connection.
func TestCannotConnect(t *testing.T) {
	t.Parallel()
	server := mysqltest.Start(t)
	server.Exec("CREATE USER locked IDENTIFIED BY 'right'", "GRANT ALL ON locks.* TO locked")
	for address, want := range map[string]struct {
		kind causes.Kind
		hint string
	}{
		mysqltest.URLOf("locked:wrong", server.Addr()):          {causes.Denied, "MYSQL_PWD"},
		mysqltest.URLOf("nobody", server.Addr()):                {causes.Denied, "MYSQL_PWD"},
		strings.Replace(server.URL(), "/locks", "/none", 1):     {causes.Refused, "CREATE DATABASE `none`"},
		mysqltest.URLOf(mysqltest.User, "127.0.0.1:1"):          {causes.Unreachable, "MYSQL_HOST"},
		server.URL() + "?tls=true":                              {causes.Unreachable, "tls=false"},
		"mysql://root@/locks?socket=/no/such":                   {causes.Unreachable, "MYSQL_HOST"},
		mysqltest.URLOf("nobody", "127.0.0.1:1", server.Addr()): {causes.Denied, "MYSQL_PWD"},
	} {
		s := at(t, address)
		_, err := s.Read(storetest.Within(t, realserver.Ready), jobs)
		if err == nil {
			t.Errorf("%s: no error", address)
			continue
		}
		if f := storetest.IsKind(t, s, err, want.kind); !strings.Contains(f.Hint, want.hint) || strings.Contains(f.Text, "wrong") {
			t.Errorf("%s: %+v; want a hint with %q", address, f, want.hint)
		}
	}
	storetest.Must(t)(at(t, mysqltest.URLOf("locked:right", "127.0.0.1:1", server.Addr())).Read(storetest.Within(t, realserver.Ready), jobs))
}

// TestTLS checks that certificates are verified as the settings say.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca, other := realserver.NewCA(t), realserver.NewCA(t)
	cert, key := ca.Issue("server", realserver.Cert{Hosts: []string{"127.0.0.1"}, Lasts: 3 * time.Hour})
	server := mysqltest.StartTLS(t, cert, key, ca.CertFile)
	server.Exec("CREATE USER guest REQUIRE X509", "GRANT ALL ON locks.* TO guest")
	ours, oursKey := ca.Issue("guest", realserver.Cert{Lasts: 2 * time.Hour})
	for params, want := range map[string]struct {
		user string
		kind causes.Kind // -1: there is no error
	}{
		"":                          {mysqltest.User, -1},
		"?tls=false":                {mysqltest.User, -1},
		"?cacert=" + ca.CertFile:    {mysqltest.User, -1},
		"?cacert=" + other.CertFile: {mysqltest.User, causes.Unreachable},
		"?servername=elsewhere&cacert=" + ca.CertFile: {mysqltest.User, causes.Unreachable},
		"?tls=true": {"guest", causes.Unreachable}, // nobody knows the CA
		"?tls=false&cert=" + ours + "&key=" + oursKey:                  {"guest", causes.Denied},
		"?cacert=" + ca.CertFile + "&cert=" + ours + "&key=" + oursKey: {"guest", -1},
	} {
		s := at(t, mysqltest.URLOf(want.user, server.Addr())+params)
		_, err := s.Read(storetest.Within(t, realserver.Ready), jobs)
		if want.kind >= 0 {
			storetest.IsKind(t, s, err, want.kind)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		h, err := s.ask(storetest.Within(t, realserver.Ready), server.Addr())
		if err != nil || (h.TLS == "") != (params == "?tls=false") || strings.Contains(params, "cert=") && time.Until(h.Expires) > 3*time.Hour {
			t.Errorf("%s: %+v, %v", params, h.Server, err)
		}
	}
}
