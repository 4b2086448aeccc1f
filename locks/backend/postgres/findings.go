package postgres

import (
	"fmt"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// addFindings reports what the hosts' answers mean for locks.
func (s *settings) addFindings(all []host, to *locks.Servers) {
	var primaries []host
	for _, h := range all {
		if h.facts.role == "primary" {
			primaries = append(primaries, h)
		}
	}
	if len(primaries) == 0 {
		return
	}
	if len(primaries) > 1 {
		to.Find("primary", locks.LevelError, fmt.Sprintf("%d hosts are primaries, and each grants the same locks", len(primaries)), "make sure that there is one primary; name only hosts of one cluster")
	}
	p := primaries[0]
	p.encryption(to)
	p.facts.durability(s, to)
}

// encryption reports what others on the way to the host could do.
func (h host) encryption(to *locks.Servers) {
	const verify = "verify it with sslmode=verify-full and sslrootcert=FILE"
	const fix = "enable TLS on the server, and " + verify
	switch {
	case h.cleartext:
		to.Find("encryption", locks.LevelWarning, "the password goes over the network unencrypted", fix+"; or let the server want SCRAM, and set require_auth=scram-sha-256")
	case h.exposed:
		to.Find("encryption", locks.LevelWarning, "TLS is not spoken: others on the way can read and change what is sent, and whoever answers can ask for the password", fix)
	case h.unverified && !hosts.Local(h.Address):
		to.Find("encryption", locks.LevelWarning, "the server's certificate is not verified: whoever answers can ask for the password", verify)
	}
}

// durability reports which failures can lose an acknowledged write.
func (f facts) durability(s *settings, to *locks.Servers) {
	switch {
	case f.fsync == "off":
		to.Find("fsync", locks.LevelError, "fsync is off: a crash of the machine loses granted locks", "set fsync = on")
	case f.unlogged:
		to.Find("fsync", locks.LevelError, s.where()+" is UNLOGGED: a crash of the server empties it, which frees held locks", "run: ALTER TABLE "+s.where()+" SET LOGGED")
	default:
		to.Find("fsync", locks.LevelOK, "fsync is on", "")
	}
	switch {
	case f.standbys == 0:
		to.Find("replication", locks.LevelOK, "no standby follows now", "")
	case f.waitsFor == "" || f.hidden == 0 && f.synchronous == 0:
		to.Find("replication", locks.LevelWarning, fmt.Sprintf("none of %d standbys is synchronous: if one is promoted, it may lack the last writes, and grant a held lock again, with a token that was granted before", f.standbys),
			"set synchronous_standby_names, and promote only synchronous standbys; or fence by the token where that matters")
	case len(f.waitsFor) > 3 && strings.EqualFold(f.waitsFor[:3], "ANY"):
		to.Find("replication", locks.LevelWarning, fmt.Sprintf("commits wait for %s: if a standby is promoted that was not waited for, it may lack the last writes, and grant a held lock again, with a token that was granted before", locks.Printable(f.waitsFor)),
			"promote only the standby with the greatest LSN (Patroni: synchronous_mode: quorum), or name the standbys with FIRST")
	case f.hidden > 0:
		to.Find("replication", locks.LevelWarning, fmt.Sprintf("commits wait for %s, but whether that is a standby cannot be seen", locks.Printable(f.waitsFor)), "grant this role pg_read_all_stats")
	default:
		to.Find("replication", locks.LevelOK, fmt.Sprintf("%d follow; commits wait for %s", f.standbys, locks.Printable(f.waitsFor)), "")
	}
}
