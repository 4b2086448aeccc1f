package postgres

import (
	"fmt"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// addFindings reports what the hosts' answers mean for locks.
func (s *settings) addFindings(hosts []host, to *locks.Servers) {
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
		to.Find("primary", locks.LevelError, "each host that answers is a standby, which refuses locks", hintStandby)
		return
	case len(primaries) > 1:
		to.Find("primary", locks.LevelError, fmt.Sprintf("%d hosts are primaries, and each grants the same locks", len(primaries)), "make sure that there is one primary; name only hosts of one cluster")
	}
	p := primaries[0]
	p.encryption(to)
	p.facts.durability(s, to)
	p.facts.access(s, to)
	if p.pooled {
		to.Find("notify", locks.LevelWarning, "a pooler is in between: waiters look every second, later every 2 to 5 s, and a holder notices requests and losses when it renews", "give leaderrun an address of the server itself")
	} else {
		to.Find("notify", locks.LevelOK, "the server notifies waiters at once", "")
	}
}

// encryption reports what others on the way to the host could do.
func (h host) encryption(to *locks.Servers) {
	const fix = "enable TLS on the server, and verify it with sslmode=verify-full and sslrootcert=FILE"
	switch {
	case h.cleartext:
		to.Find("encryption", locks.LevelWarning, "the password goes over the network unencrypted", fix+"; or let the server want SCRAM, and set require_auth=scram-sha-256")
	case h.exposed:
		to.Find("encryption", locks.LevelWarning, "TLS is not spoken: others on the way can read and change what is sent, and whoever answers can ask for the password", fix)
	}
}

// durability reports which failures can lose an acknowledged write.
func (f facts) durability(s *settings, to *locks.Servers) {
	switch {
	case f.readOnly == "on":
		to.Find("writable", locks.LevelError, "default_transaction_read_only is on", "turn it off for this role: ALTER ROLE … SET default_transaction_read_only = off")
	case f.fsync == "off":
		to.Find("fsync", locks.LevelError, "fsync is off: a crash of the machine loses granted locks", "set fsync = on")
	case f.unlogged:
		to.Find("fsync", locks.LevelError, s.where()+" is UNLOGGED: a crash of the server empties it, which frees held locks", "run: ALTER TABLE "+s.where()+" SET LOGGED")
	default:
		to.Find("fsync", locks.LevelOK, "acknowledged writes are on disk, whatever synchronous_commit is", "")
	}
	switch {
	case f.standbys == 0:
		to.Find("replication", locks.LevelOK, "no standby follows", "")
	case f.waitsFor == "" || f.hidden == 0 && f.synchronous == 0:
		to.Find("replication", locks.LevelWarning, fmt.Sprintf("none of %d standbys is synchronous: if one is promoted, it may lack the last writes, and grant a held lock again, with a token that was granted before", f.standbys),
			"set synchronous_standby_names, and promote only synchronous standbys; or fence by the token where that matters")
	case len(f.waitsFor) > 3 && strings.EqualFold(f.waitsFor[:3], "ANY"):
		to.Find("replication", locks.LevelWarning, fmt.Sprintf("commits wait for %s: if a standby is promoted that was not waited for, it may lack the last writes, and grant a held lock again, with a token that was granted before", locks.Printable(f.waitsFor)),
			"promote only the standby with the greatest LSN (Patroni: synchronous_mode: quorum), or name the standbys with FIRST")
	default:
		to.Find("replication", locks.LevelOK, fmt.Sprintf("%d follow; commits wait for %s", f.standbys, locks.Printable(f.waitsFor)), "")
	}
}

// access reports whether we may do what a run does.
func (f facts) access(s *settings, to *locks.Servers) {
	switch {
	case f.tableExists && !f.mayUse:
		to.Find("table", locks.LevelError, "no access to "+s.where(), "ask the owner of the database to run: "+s.grants())
	case !f.tableExists && !f.mayCreate:
		to.Find("table", locks.LevelError, "there is no "+s.where()+", and we may not create it", "ask the owner of the database to run: "+s.setup())
	case !f.tableExists:
		to.Find("table", locks.LevelOK, "there is no "+s.where()+" yet; the first run creates it", "")
	case f.rowSecurity:
		to.Find("table", locks.LevelWarning, s.where()+" has row-level security: where its policies hide rows, or refuse them, locks cannot be taken", "ask its owner for a policy that lets this role do everything, or to run: ALTER TABLE "+s.where()+" DISABLE ROW LEVEL SECURITY")
	case !f.mayForget:
		to.Find("table", locks.LevelOK, s.where()+" exists; we may do everything except forget locks", "")
	default:
		to.Find("table", locks.LevelOK, s.where()+" exists, and we may use it", "")
	}
}
