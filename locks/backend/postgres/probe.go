package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/rows"
)

// A host is one of the URL's, with its answers.
type host struct {
	locks.Server
	facts      facts
	cleartext  bool // the password went there in clear text
	exposed    bool // others may read what goes there
	unverified bool // others may have answered, over TLS
}

// facts are the answers to factsSQL. A fact that our user may not see has its zero value.
type facts struct {
	user, version, role, fsync, waitsFor string
	standbys, hidden, synchronous        int
	unlogged                             bool
}

// A standby has a replay_lsn, which programs that only copy, such as pg_receivewal, have not. A
// subscriber of logical replication has a logical slot. Of those that we may not see the state of,
// each counts.
const factsSQL = `SELECT current_user, current_setting('server_version'),
		CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE 'primary' END,
		current_setting('fsync'), current_setting('synchronous_standby_names'),
		standbys, hidden, synchronous, (extract(epoch from clock_timestamp())*1000000)::bigint, coalesce(t.relpersistence = 'u', false)
	FROM (SELECT count(*) AS standbys, count(*) FILTER (WHERE sync_state IS NULL) AS hidden,
			count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS synchronous
		FROM pg_stat_replication r WHERE (sync_state IS NULL OR state <> 'backup' AND replay_lsn IS NOT NULL)
			AND NOT EXISTS (SELECT FROM pg_replication_slots WHERE active_pid = r.pid AND slot_type = 'logical')) AS r
	LEFT JOIN pg_namespace n ON n.nspname = $1 LEFT JOIN pg_class t ON t.relnamespace = n.oid AND t.relname = $2`

// Probe implements [caslease.Prober]. It asks all hosts concurrently, each over its own
// connection.
func (s *store) Probe(ctx context.Context, insist func(context.Context, func(context.Context) error) *locks.Error) (locks.Servers, error) {
	var all sync.WaitGroup
	hosts := make([]host, min(len(s.pool.settings.hosts), locks.MaxServers))
	for i := range hosts {
		all.Go(func() {
			h := &hosts[i]
			err := insist(ctx, func(ctx context.Context) (err error) { *h, err = s.ask(ctx, s.pool.settings.hosts[i]); return err })
			h.Address = s.pool.settings.hosts[i]
			if err == nil {
				return
			}
			h.Error, h.Class = err.Err.Error(), locks.ServerClass(err)
		})
	}
	all.Wait()
	found := locks.Servers{Product: "PostgreSQL"}
	s.pool.settings.addFindings(hosts, &found)
	for _, h := range hosts {
		found.Servers = append(found.Servers, h.Server)
		found.User = max(found.User, h.facts.user)
	}
	return found, nil
}

// ask asks one host, twice: the second request has an open connection, so its time is the
// RTT.
func (s *store) ask(ctx context.Context, address string) (h host, err error) {
	c, err := s.pool.connect(ctx, []string{address}, func(ctx context.Context, c *conn) error {
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
		result := c.ExecParams(ctx, factsSQL, [][]byte{[]byte(s.pool.settings.schema), []byte(table)}, nil, nil, nil).Read()
		if result.Err != nil {
			return h, result.Err
		}
		if h.facts, h.Time, err = readFacts(result.Rows[0]); err != nil {
			return h, err
		}
		h.RTT = time.Since(sent)
		h.Ours = sent.Add(h.RTT / 2)
	}
	h.Version, h.Role = h.facts.version, h.facts.role
	h.TLS, h.Expires = c.encryption()
	h.cleartext, h.exposed = c.cleartext, exposed(c.Conn())
	h.unverified = h.TLS != "" && c.tls.InsecureSkipVerify && c.tls.VerifyPeerCertificate == nil
	return h, nil
}

func readFacts(row [][]byte) (f facts, now time.Time, err error) {
	var d rows.Decoder
	version, _, _ := strings.Cut(string(row[1]), " ")
	f = facts{
		user: string(row[0]), version: version, role: string(row[2]), fsync: string(row[3]), waitsFor: string(row[4]),
		standbys: int(d.Number(row[5])), hidden: int(d.Number(row[6])), synchronous: int(d.Number(row[7])), unlogged: string(row[9]) == "t",
	}
	return f, d.Time(row[8]), d.Err
}

// encryption returns the version of TLS, and when the first of its certificates expires.
func (c *conn) encryption() (version string, expires time.Time) {
	conn, ok := c.Conn().(*tls.Conn)
	if !ok {
		return "", expires
	}
	state := conn.ConnectionState()
	if c.tls.VerifyPeerCertificate != nil { // with verify-ca the driver itself verifies the chain
		state.VerifiedChains = [][]*x509.Certificate{state.PeerCertificates}
	}
	var ours *tls.Certificate
	if len(c.tls.Certificates) > 0 {
		ours = &c.tls.Certificates[0]
	}
	return tlsfiles.Security(state, ours)
}

var _ caslease.Prober = (*store)(nil)
