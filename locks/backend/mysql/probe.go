package mysql

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/rows"
)

// A host is one of the settings', with its answers.
type host struct {
	locks.Server
	// facts are global variables and the status of the server, by name in lower case. One
	// that the server does not know is "".
	facts map[string]string
	user  string
	table error // of trying everything that a run does with the table; sql.ErrNoRows: there is none
}

const (
	timeSQL  = "SELECT CURRENT_USER(), @@version, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " + now + "), (SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '" + table + "')"
	factsSQL = "SHOW GLOBAL VARIABLES WHERE variable_name IN ('read_only', 'innodb_read_only', 'log_bin', 'binlog_format', 'sync_binlog', 'innodb_flush_log_at_trx_commit', 'wsrep_on'); " +
		"SHOW GLOBAL STATUS WHERE variable_name IN ('slaves_connected', 'replicas_connected', 'rpl_semi_sync_master_clients', 'rpl_semi_sync_source_clients', 'rpl_semi_sync_master_status', 'rpl_semi_sync_source_status', 'wsrep_ready', 'wsrep_cluster_size')"
	// trySQL needs every permission that a run needs, and changes nothing.
	trySQL    = "SELECT version FROM @table LIMIT 0; INSERT INTO @table SELECT * FROM @table WHERE FALSE; UPDATE @table SET version = version WHERE FALSE"
	forgetSQL = "DELETE FROM @table WHERE FALSE"
)

// Probe implements [caslease.Prober]. It asks all hosts concurrently, each over its own
// connection.
func (s *store) Probe(ctx context.Context, insist func(context.Context, func(context.Context) error) *locks.Error) (locks.Servers, error) {
	var all sync.WaitGroup
	hosts := make([]host, min(len(s.settings.hosts), locks.MaxServers))
	for i := range hosts {
		all.Go(func() {
			h := &hosts[i]
			err := insist(ctx, func(ctx context.Context) (err error) { *h, err = s.ask(ctx, s.settings.hosts[i]); return err })
			h.Address = s.settings.hosts[i]
			if err != nil {
				h.Error, h.Class = err.Err.Error(), locks.ServerClass(err)
			}
		})
	}
	all.Wait()
	found := locks.Servers{Product: "MySQL"}
	s.addFindings(hosts, &found)
	for _, h := range hosts {
		found.Servers = append(found.Servers, h.Server)
		found.User = cmp.Or(found.User, h.user)
	}
	return found, nil
}

// ask asks one host. Its time is asked twice: the second time the connection is open, so this
// is the RTT.
func (s *store) ask(ctx context.Context, address string) (h host, err error) {
	to := &connector{settings: s.settings, hosts: []string{address}, timeout: s.timeout, lenient: true}
	to.secured = func(state tls.ConnectionState) {
		h.TLS, h.Expires = tlsfiles.Security(state, tlsfiles.Own(s.settings.tls.Config()))
	}
	db := sql.OpenDB(to)
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return h, &connectError{err}
	}
	defer c.Close()
	engine := ""
	for range 2 {
		sent := time.Now()
		results, err := query(ctx, c, timeSQL)
		if err != nil {
			return h, err
		}
		var d rows.Decoder
		row := results[0][0]
		h.RTT = time.Since(sent)
		h.user, h.Version, h.Time, h.Ours, engine = string(row[0]), string(row[1]), d.Time(row[2]), sent.Add(h.RTT/2), string(row[3])
	}
	results, err := query(ctx, c, factsSQL)
	if err != nil {
		return h, err
	}
	h.facts = map[string]string{}
	for _, result := range results {
		for _, row := range result {
			h.facts[strings.ToLower(string(row[0]))] = string(row[1])
		}
	}
	h.Role = "primary"
	if !mayWrite(h.facts["read_only"] + h.facts["innodb_read_only"]) {
		h.Role = "replica"
	} else {
		h.table = s.try(ctx, c, engine)
	}
	return h, nil
}

// try reports whether a run may do with the table what it does.
func (s *store) try(ctx context.Context, c *sql.Conn, engine string) error {
	switch {
	case engine == "":
		// Either there is none, or we may not see it.
		if _, err := query(ctx, c, s.settings.sql(trySQL, nil)); number(err) != noSuchTable {
			return err
		}
		return sql.ErrNoRows
	case !strings.EqualFold(engine, "InnoDB"):
		return errEngine
	}
	_, err := query(ctx, c, s.settings.sql(trySQL, nil))
	if err == nil {
		if _, err = query(ctx, c, s.settings.sql(forgetSQL, nil)); err != nil {
			err = errors.Join(errForget, err)
		}
	}
	return err
}

var errForget = errors.New("we may do everything except forget locks")

// addFindings reports what the hosts' answers mean for locks.
func (s *store) addFindings(hosts []host, to *locks.Servers) {
	var primaries []host
	answers := 0
	for _, h := range hosts {
		if h.Error == "" {
			answers++
		}
		if h.Role == "primary" {
			primaries = append(primaries, h)
		}
	}
	switch {
	case answers == 0:
		return
	case len(primaries) == 0:
		to.Find("primary", locks.LevelError, "each host that answers is a replica, or refuses writes (read_only)", hintReplica)
		return
	case len(primaries) > 1 && !primaries[0].galera():
		to.Find("primary", locks.LevelError, fmt.Sprintf("%d hosts accept writes, and each grants the same locks", len(primaries)), "set read_only on all but one; name only hosts of one cluster")
	}
	p := primaries[0]
	s.encryption(p, to)
	p.durability(to)
	p.replication(to)
	s.access(p, to)
	to.Find("notify", locks.LevelOK, "MySQL notifies nobody: waiters look every second, later every 2 to 5 s, and a holder notices requests and losses when it renews", "")
}

// encryption reports what others on the way to the host could do.
func (s *store) encryption(h host, to *locks.Servers) {
	const fix = "enable TLS on the server, and verify it (cacert=FILE, or tls=true)"
	switch {
	case h.TLS != "" || hosts.Local(h.Address):
	case s.settings.trustsAnyKey(h.Address):
		to.Find("encryption", locks.LevelWarning, "TLS is not spoken, and the password goes to whoever answers (get-server-public-key)", fix)
	default:
		to.Find("encryption", locks.LevelWarning, "TLS is not spoken: others on the way can read and change what is sent", fix)
	}
}

func (h host) galera() bool { return isOn(h.facts["wsrep_on"]) }

// number returns the sum of facts that are numbers. Servers have either name of a pair.
func (h host) number(names ...string) (sum int) {
	for _, name := range names {
		n, _ := strconv.Atoi(h.facts[name])
		sum += n
	}
	return sum
}

// durability reports whether a crash can lose an acknowledged write.
func (h host) durability(to *locks.Servers) {
	flush, binlog := h.facts["innodb_flush_log_at_trx_commit"], h.facts["sync_binlog"]
	switch {
	case flush != "1" && h.galera():
		to.Find("durability", locks.LevelWarning, "innodb_flush_log_at_trx_commit is "+flush+": a crash of all nodes loses granted locks", "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	case flush != "1":
		to.Find("durability", locks.LevelError, "innodb_flush_log_at_trx_commit is "+flush+": a crash loses granted locks", "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	case isOn(h.facts["log_bin"]) && binlog != "1":
		to.Find("durability", locks.LevelWarning, "sync_binlog is "+binlog+": after a crash of the machine, replicas or the server itself may lack granted locks", "SET GLOBAL sync_binlog = 1")
	default:
		to.Find("durability", locks.LevelOK, "acknowledged writes are on disk", "")
	}
}

// replication reports whether a failover can lose an acknowledged write.
func (h host) replication(to *locks.Servers) {
	replicas, waits := h.number("slaves_connected", "replicas_connected"), h.number("rpl_semi_sync_master_clients", "rpl_semi_sync_source_clients")
	switch {
	case isOn(h.facts["log_bin"]) && h.facts["binlog_format"] == "STATEMENT":
		to.Find("replication", locks.LevelError, "binlog_format is STATEMENT, with which locks are refused", "SET GLOBAL binlog_format = 'ROW'")
	case h.galera():
		to.Find("replication", locks.LevelOK, fmt.Sprintf("a Galera cluster of %d; a commit is certified by all of them", h.number("wsrep_cluster_size")), "")
	case waits > 0 && !isOn(h.facts["rpl_semi_sync_master_status"]) && !isOn(h.facts["rpl_semi_sync_source_status"]):
		to.Find("replication", locks.LevelWarning, "semi-synchronous replication is off, or has gone on without the replicas: if one is promoted, it may lack the last writes, and grant a held lock again, with a token that was granted before",
			"see rpl_semi_sync_master_enabled or rpl_semi_sync_source_enabled, and whether a replica acknowledges in time")
	case waits > 0:
		to.Find("replication", locks.LevelOK, fmt.Sprintf("semi-synchronous, to %d", waits), "")
	case isOn(h.facts["log_bin"]):
		to.Find("replication", locks.LevelWarning, fmt.Sprintf("%d replicas, and none is semi-synchronous: if one is promoted, it may lack the last writes, and grant a held lock again, with a token that was granted before", replicas),
			"make replication semi-synchronous; or fence by the token where that matters")
	default:
		to.Find("replication", locks.LevelOK, "no replica follows", "")
	}
}

// access reports whether we may do what a run does.
func (s *store) access(h host, to *locks.Servers) {
	where := s.settings.where()
	switch {
	case h.table == nil:
		to.Find("table", locks.LevelOK, where+" exists, and we may use it", "")
	case errors.Is(h.table, sql.ErrNoRows):
		to.Find("table", locks.LevelOK, "there is no "+where+" yet; the first run creates it, if it may", "")
	case errors.Is(h.table, errForget):
		to.Find("table", locks.LevelOK, where+" exists; "+errForget.Error(), "")
	default:
		f := s.Fault(h.table)
		to.Find("table", locks.LevelError, f.Text, f.Hint)
	}
}

var _ caslease.Prober = (*store)(nil)
