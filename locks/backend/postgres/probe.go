package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A host is what one of them has told.
type host struct {
	locks.Server
	facts  facts
	pooled bool
}

// facts are what factsSQL asks for. Whoever may not see a fact sees nothing.
type facts struct {
	user, version, role, readOnly, fsync, waitsFor string
	followers, unseen, synchronous                 int
	tableThere, mayMake, mayUse, mayForget         bool
}

const factsSQL = `SELECT current_user, current_setting('server_version'),
		CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE 'primary' END, current_setting('transaction_read_only'),
		current_setting('fsync'), current_setting('synchronous_standby_names'),
		(SELECT count(*) FROM pg_stat_replication), (SELECT count(*) FROM pg_stat_replication WHERE sync_state IS NULL),
		(SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')),
		t.oid IS NOT NULL, coalesce(has_schema_privilege(n.oid, 'CREATE'), false),
		coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(t.oid, 'SELECT') AND
			has_table_privilege(t.oid, 'INSERT') AND has_table_privilege(t.oid, 'UPDATE'), false),
		coalesce(has_table_privilege(t.oid, 'DELETE'), false), (extract(epoch from clock_timestamp())*1000000)::bigint
	FROM (SELECT) AS one LEFT JOIN pg_namespace n ON n.nspname = $1 LEFT JOIN pg_class t ON t.relnamespace = n.oid AND t.relname = $2`

// Probe implements [caslease.Prober]. Each host is asked over a connection of its own, and
// all at the same time.
func (s *store) Probe(ctx context.Context, insist func(context.Context, func(context.Context) error) *locks.Error) (locks.Servers, error) {
	var all sync.WaitGroup
	hosts := make([]host, min(len(s.s.hosts), locks.MaxServers))
	for i := range hosts {
		all.Go(func() {
			h := &hosts[i]
			err := insist(ctx, func(ctx context.Context) (err error) { *h, err = s.ask(ctx, s.s.hosts[i]); return err })
			h.Address = s.s.hosts[i]
			if err == nil {
				return
			}
			h.Error, h.Class = err.Err.Error(), locks.ServerClass(err)
		})
	}
	all.Wait()
	found := locks.Servers{Product: "PostgreSQL"}
	s.s.judge(hosts, &found)
	for _, h := range hosts {
		found.Servers = append(found.Servers, h.Server)
		found.User = max(found.User, h.facts.user)
	}
	return found, nil
}

// ask asks one host, twice: the second request finds the connection made.
func (s *store) ask(ctx context.Context, address string) (h host, err error) {
	c, err := s.connect(ctx, []string{address}, func(ctx context.Context, c *conn) error {
		if err := c.check(ctx); err != nil && !errors.Is(err, errStandby) && !errors.Is(err, errReadOnly) {
			return err
		}
		return nil
	})
	if err != nil {
		return h, err
	}
	defer c.close()
	for range 2 {
		sent := time.Now()
		result := c.ExecParams(ctx, factsSQL, [][]byte{[]byte(s.s.schema), []byte(table)}, nil, nil, nil).Read()
		if result.Err != nil {
			return h, result.Err
		}
		if h.facts, h.Time, err = readFacts(result.Rows[0]); err != nil {
			return h, err
		}
		h.RTT = time.Since(sent)
		h.Ours = sent.Add(h.RTT / 2)
	}
	h.Version, h.Role, h.pooled = h.facts.version, h.facts.role, c.pooled
	h.TLS, h.Expires = c.encryption()
	return h, nil
}

func readFacts(row [][]byte) (f facts, now time.Time, err error) {
	var d decoder
	yes := func(text []byte) bool { return string(text) == "t" }
	version, _, _ := strings.Cut(string(row[1]), " ")
	f = facts{
		user: string(row[0]), version: version, role: string(row[2]), readOnly: string(row[3]), fsync: string(row[4]), waitsFor: string(row[5]),
		followers: int(d.number(row[6])), unseen: int(d.number(row[7])), synchronous: int(d.number(row[8])),
		tableThere: yes(row[9]), mayMake: yes(row[10]), mayUse: yes(row[11]), mayForget: yes(row[12]),
	}
	return f, d.stamp(row[13]), d.err
}

// encryption is the version of TLS, and when the first certificate ends on which it depends.
func (c *conn) encryption() (version string, expires time.Time) {
	conn, ok := c.Conn().(*tls.Conn)
	if !ok {
		return "", expires
	}
	state := conn.ConnectionState()
	if c.tls.VerifyPeerCertificate != nil { // with verify-ca the driver does that by itself
		state.VerifiedChains = [][]*x509.Certificate{state.PeerCertificates}
	}
	var ours *tls.Certificate
	if len(c.tls.Certificates) > 0 {
		ours = &c.tls.Certificates[0]
	}
	return tlsfiles.Security(state, ours)
}

// judge adds findings about what the hosts have told.
func (s *settings) judge(hosts []host, to *locks.Servers) {
	var primaries []host
	answers := 0
	for _, h := range hosts {
		if h.Error != "" {
			continue
		}
		if answers++; h.facts.role == "primary" {
			primaries = append(primaries, h)
		}
	}
	switch {
	case answers == 0:
		return
	case len(primaries) == 0:
		to.Find("primary", locks.LevelError, "each host that answers is a standby, and refuses locks", hintStandby)
		return
	case len(primaries) > 1:
		to.Find("primary", locks.LevelError, fmt.Sprintf("%d hosts are primaries: each of them grants the same locks", len(primaries)), "see to it that there is one; name hosts of one cluster only")
	}
	p := primaries[0]
	p.facts.durability(to)
	p.facts.access(s, to)
	if p.pooled {
		to.Find("notify", locks.LevelWarning, "a pooler is on the way: who waits looks every second, and a holder hears of requests and losses by its renewals", "give leaderrun an address of the server itself")
	} else {
		to.Find("notify", locks.LevelOK, "the server wakes those who wait", "")
	}
}

// durability tells what an acknowledged write can survive.
func (f facts) durability(to *locks.Servers) {
	switch {
	case f.readOnly == "on":
		to.Find("writable", locks.LevelError, "default_transaction_read_only is on", "turn it off for this role: ALTER ROLE … SET default_transaction_read_only = off")
	case f.fsync == "off":
		to.Find("fsync", locks.LevelError, "fsync is off: a crash of the machine loses locks that were granted", "set fsync = on")
	default:
		to.Find("fsync", locks.LevelOK, "what is acknowledged is on disk, whatever synchronous_commit says", "")
	}
	switch {
	case f.followers == 0:
		to.Find("replication", locks.LevelOK, "no standby follows", "")
	case f.waitsFor == "" || f.unseen == 0 && f.synchronous == 0:
		to.Find("replication", locks.LevelWarning, fmt.Sprintf("no standby of %d is synchronous: one that is promoted may lack the last writes, and grant a lock that is held, with a token that was given out", f.followers),
			"set synchronous_standby_names, and promote none but synchronous standbys; or fence by the token where that matters")
	default:
		to.Find("replication", locks.LevelOK, fmt.Sprintf("%d follow; commits wait for %s", f.followers, locks.Printable(f.waitsFor)), "")
	}
}

// access tells whether we may do what a run does.
func (f facts) access(s *settings, to *locks.Servers) {
	switch {
	case f.tableThere && !f.mayUse:
		to.Find("table", locks.LevelError, "no access to "+s.where(), "ask the owner of the database to run: "+s.grants())
	case !f.tableThere && !f.mayMake:
		to.Find("table", locks.LevelError, "there is no "+s.where()+", and we may not make it", "ask the owner of the database to run: "+s.setup())
	case !f.tableThere:
		to.Find("table", locks.LevelOK, "there is no "+s.where()+" yet; the first run makes it", "")
	case !f.mayForget:
		to.Find("table", locks.LevelOK, s.where()+" is there; we may do all but forget locks", "")
	default:
		to.Find("table", locks.LevelOK, s.where()+" is there, and we may use it", "")
	}
}

var _ caslease.Prober = (*store)(nil)
