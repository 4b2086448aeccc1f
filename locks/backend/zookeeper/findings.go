package zookeeper

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// findings tells what is well with the servers, and what is not.
func findings(all []probed, ttl time.Duration) []locks.Finding {
	return slices.Concat(aboutQuorum(all), aboutVersions(all), aboutSessions(all, ttl))
}

// aboutQuorum looks whether anybody serves. Servers that cannot be reached say so
// themselves.
func aboutQuorum(all []probed) []locks.Finding {
	const check = "quorum"
	serve, wait := 0, 0
	for _, p := range all {
		if p.Error == "" {
			serve++
		} else if p.Error == errNoQuorum.Error() || p.Error == errReadOnly.Error() {
			wait++
		}
	}
	switch {
	case serve > 0 && wait == 0:
		return []locks.Finding{{Check: check, Level: locks.LevelOK, Text: fmt.Sprintf("%d of the %d servers given serve", serve, len(all))}}
	case serve > 0:
		return []locks.Finding{{Check: check, Level: locks.LevelWarning, Text: fmt.Sprintf("%d of the %d servers given are cut off from the others", wait, len(all)),
			Fix: "check the network between the servers, and their logs"}}
	case wait > 0:
		return []locks.Finding{{Check: check, Level: locks.LevelError, Text: "no server serves: the ensemble has no quorum",
			Fix: "start servers until more than half of them run and reach each other"}}
	}
	return nil
}

// aboutVersions looks for known faults. All of these are of servers that take over
// from each other, which one that stands alone does not.
func aboutVersions(all []probed) (found []locks.Finding) {
	const check = "version"
	add := func(level, text, fix string) {
		f := locks.Finding{Check: check, Level: level, Text: text, Fix: fix}
		if !slices.Contains(found, f) {
			found = append(found, f)
		}
	}
	for _, p := range all {
		v, ok := parseVersion(p.Version)
		switch fault := faultOf(v); {
		case p.Error != "":
		case p.banner.refused:
			add(locks.LevelWarning, "the servers do not tell their version and role", "add srvr to 4lw.commands.whitelist in zoo.cfg")
		case p.banner.product == "ClickHouse Keeper":
			// github.com/ClickHouse/ClickHouse issue 116690: it resumes no session.
			add(locks.LevelError, "this is ClickHouse Keeper, which resumes no session: each renewal would lose the lock", "use Apache ZooKeeper")
		case !ok:
		case v.before(oldest):
			add(locks.LevelError, fmt.Sprintf("version %s is too old", v), fmt.Sprintf("leaderrun takes ZooKeeper %s or newer", oldest))
		case fault != nil && p.Role != "standalone":
			add(locks.LevelWarning, fmt.Sprintf("version %s may lose what was committed, and so a lock, when its leader changes (%s)", v, fault.issue),
				"update the servers to "+sound)
		}
	}
	if found == nil && slices.ContainsFunc(all, func(p probed) bool { return p.Version != "" }) {
		add(locks.LevelOK, "no fault is known by which these versions lose a lock", "")
	}
	return found
}

// aboutSessions tells which TTLs are granted: each server has limits of its own,
// and a lease ends if it meets another.
func aboutSessions(all []probed, ttl time.Duration) []locks.Finding {
	const check = "ttl"
	type limits struct{ least, most time.Duration }
	at := map[limits]string{}
	for _, p := range all {
		if p.most > 0 {
			at[limits{p.least, p.most}] = p.Address
		}
	}
	if len(at) > 1 {
		var text []string
		for l, address := range at {
			text = append(text, fmt.Sprintf("%s from %v to %v", address, l.least, l.most))
		}
		slices.Sort(text)
		return []locks.Finding{{Check: check, Level: locks.LevelWarning, Text: "the servers grant different ttls: " + strings.Join(text, ", "),
			Fix: "give all servers the same tickTime, minSessionTimeout and maxSessionTimeout"}}
	}
	for l := range at {
		f := locks.Finding{Check: check, Level: locks.LevelOK, Text: fmt.Sprintf("ttls from %v to %v are granted", l.least, l.most)}
		if granted := max(min(ttl, l.most), l.least); granted != ttl {
			f.Level, f.Text = locks.LevelWarning, f.Text+fmt.Sprintf("; of %v, %v", ttl, granted)
			f.Fix = "ask for a ttl in that range, or change minSessionTimeout or maxSessionTimeout in zoo.cfg"
		}
		return []locks.Finding{f}
	}
	return nil
}
