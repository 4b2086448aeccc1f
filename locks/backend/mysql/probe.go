package mysql

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
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
	facts      map[string]string
	user       string
	unverified bool // others may have answered, over TLS
}

const (
	timeSQL  = "SELECT CURRENT_USER(), @@version, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " + now + ")"
	factsSQL = "SHOW GLOBAL VARIABLES WHERE variable_name IN ('read_only', 'innodb_read_only', 'log_bin', 'sync_binlog', 'rpl_semi_sync_master_wait_for_slave_count', 'rpl_semi_sync_source_wait_for_replica_count', 'innodb_flush_log_at_trx_commit', 'wsrep_on'); " +
		"SHOW GLOBAL STATUS WHERE variable_name IN ('slaves_connected', 'replicas_connected', 'rpl_semi_sync_master_clients', 'rpl_semi_sync_source_clients', 'rpl_semi_sync_master_status', 'rpl_semi_sync_source_status')"
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
		h.unverified = len(state.VerifiedChains) == 0
	}
	db := sql.OpenDB(to)
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return h, &connectError{err}
	}
	defer c.Close()
	for range 2 {
		sent := time.Now()
		results, err := query(ctx, c, timeSQL)
		if err != nil {
			return h, err
		}
		var d rows.Decoder
		row := results[0][0]
		h.RTT = time.Since(sent)
		h.user, h.Version, h.Time, h.Ours = string(row[0]), string(row[1]), d.Time(row[2]), sent.Add(h.RTT/2)
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
	}
	return h, nil
}

// addFindings reports what the hosts' answers mean for locks.
func (s *store) addFindings(hosts []host, to *locks.Servers) {
	var primaries []host
	for _, h := range hosts {
		if h.Role == "primary" {
			primaries = append(primaries, h)
		}
	}
	if len(primaries) == 0 {
		return
	}
	p := primaries[0]
	s.encryption(p, to)
	if isOn(p.facts["wsrep_on"]) {
		return // in a Galera cluster each node is a primary, and takes the others' writes from them
	}
	if len(primaries) > 1 {
		to.Find("primary", locks.LevelError, fmt.Sprintf("%d hosts accept writes, and each grants the same locks", len(primaries)), "set read_only on all but one; name only hosts of one cluster")
	}
	p.durability(to)
	p.replication(to)
}

// encryption reports what others on the way to the host could do.
func (s *store) encryption(h host, to *locks.Servers) {
	const verify = "verify it (cacert=FILE, or tls=true)"
	const fix = "enable TLS on the server, and " + verify
	switch {
	case hosts.Local(h.Address), h.TLS != "" && !h.unverified:
	case h.TLS != "":
		to.Find("encryption", locks.LevelWarning, "the server's certificate is not verified: whoever answers can ask for the password", verify)
	case s.settings.trustsAnyKey(h.Address):
		to.Find("encryption", locks.LevelWarning, "TLS is not spoken, and the password goes to whoever answers (get-server-public-key)", fix)
	default:
		to.Find("encryption", locks.LevelWarning, "TLS is not spoken: others on the way can read and change what is sent", fix)
	}
}

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
	case flush != "1":
		to.Find("durability", locks.LevelError, "innodb_flush_log_at_trx_commit is "+flush+": a crash loses granted locks", "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	case isOn(h.facts["log_bin"]) && binlog != "1":
		to.Find("durability", locks.LevelWarning, "sync_binlog is "+binlog+": after a crash of the machine, replicas or the server itself may lack granted locks", "SET GLOBAL sync_binlog = 1")
	default:
		to.Find("durability", locks.LevelOK, "innodb_flush_log_at_trx_commit is 1, and so is sync_binlog where there is a binary log", "")
	}
}

// replication reports whether a failover can lose an acknowledged write.
func (h host) replication(to *locks.Servers) {
	replicas, waits := h.number("slaves_connected", "replicas_connected"), h.number("rpl_semi_sync_master_clients", "rpl_semi_sync_source_clients")
	enough := max(h.number("rpl_semi_sync_master_wait_for_slave_count", "rpl_semi_sync_source_wait_for_replica_count"), 1) // MariaDB waits for one
	switch {
	case waits > 0 && !isOn(h.facts["rpl_semi_sync_master_status"]) && !isOn(h.facts["rpl_semi_sync_source_status"]):
		to.Find("replication", locks.LevelWarning, "semi-synchronous replication is off, or has gone on without the replicas: if one is promoted, it may lack the last writes, and grant a held lock again, with a token that was granted before",
			"see rpl_semi_sync_master_enabled or rpl_semi_sync_source_enabled, and whether a replica acknowledges in time")
	case waits > 0 && max(replicas, waits) > enough:
		to.Find("replication", locks.LevelWarning, fmt.Sprintf("commits wait for %d of %d replicas: if another is promoted, it may lack the last writes, and grant a held lock again, with a token that was granted before", enough, max(replicas, waits)),
			"promote only the replica with all transactions; or have commits wait for each replica that may be promoted")
	case waits > 0:
		to.Find("replication", locks.LevelOK, fmt.Sprintf("semi-synchronous now, to %d", waits), "")
	case isOn(h.facts["log_bin"]):
		to.Find("replication", locks.LevelWarning, fmt.Sprintf("%d replicas, and none is semi-synchronous: if one is promoted, it may lack the last writes, and grant a held lock again, with a token that was granted before", replicas),
			"make replication semi-synchronous; or fence by the token where that matters")
	default:
		to.Find("replication", locks.LevelOK, "log_bin is off, so no replica can follow", "")
	}
}

var _ caslease.Prober = (*store)(nil)
