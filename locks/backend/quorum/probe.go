package quorum

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"math"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/voter"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
)

// worstRate is the greatest error of a clock's rate for which the rule holds.
const worstRate = 500e-6

// Probe implements [locks.Prober]. It asks each address of each seat, over TCP and UDP, and says
// what the voters have answered.
func (l *Lock) Probe(ctx context.Context) (locks.Servers, error) {
	found := locks.Servers{Product: "leaderrun"}
	v, err := l.ask(ctx, wire.Call{Lock: l.o.Name}, func(v *view) bool { return len(v.replies) == len(l.settings.names) })
	client, begun := l.begin(ctx)
	if begun != nil {
		return found, l.fail(ctx, "probe", begun)
	}
	heard := l.echo(ctx, client)
	for seat, name := range l.settings.names {
		at, failed := client.At(seat)
		if len(at) == 0 {
			s := locks.Server{Address: name, Error: "it has no address but loopback ones, where no other host is; see /etc/hosts", Class: "unavailable"}
			if failed != nil {
				s.Error = failed.Error()
			}
			found.Servers = append(found.Servers, s)
		}
		for _, addr := range at {
			if len(found.Servers) < locks.MaxServers {
				found.Servers = append(found.Servers, l.probe(ctx, client, addr, slices.Contains(heard, addr)))
			}
		}
	}
	switch n := l.settings.group.Seats; {
	case err != nil:
		found.Find("majority", locks.LevelError, err.Error(), "see that a voter runs on each host of the URL, with the same URL and key, and that no firewall drops UDP or TCP to it")
	case v.voted() < n:
		found.Find("majority", locks.LevelWarning, fmt.Sprintf("%d of %d voters vote", v.voted(), n), "see which one does not, before another fails")
	default:
		found.Find("majority", locks.LevelOK, fmt.Sprintf("all %d voters vote", n), "")
	}
	if l.settings.group.Seats%2 == 0 {
		found.Find("hosts", locks.LevelWarning, fmt.Sprintf("%d hosts tolerate no more failures than %d", l.settings.group.Seats, l.settings.group.Seats-1), "name an odd number of hosts")
	}
	l.settings.findKey(&found)
	v.findVoters(&found)
	v.findRivals(&found)
	return found, nil
}

// findKey says who can take part.
func (s *settings) findKey(to *locks.Servers) {
	if s.keys == nil {
		to.Find("key", locks.LevelWarning, "any program on this machine can vote and lead", "give all of them key-file=")
		return
	}
	info, err := os.Stat(s.file)
	if err != nil {
		to.Find("key", locks.LevelWarning, err.Error(), "see that the file stays readable: it is read again")
		return
	}
	owner := ""
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = fmt.Sprintf(", of user %d and group %d", st.Uid, st.Gid)
	}
	to.Find("key", locks.LevelOK, fmt.Sprintf("%s has the mode %v%s; who can read it can vote and lead", s.file, info.Mode().Perm(), owner), "")
}

// echo sends each address a packet that has no effect, over UDP, and returns those that answer: a
// voter acknowledges the end of a term of which it has never heard.
func (l *Lock) echo(ctx context.Context, client *wire.Client) (heard []netip.AddrPort) {
	var all []netip.AddrPort
	for seat := range l.settings.names {
		at, _ := client.At(seat)
		all = append(all, at...)
	}
	id, answers := crand.Text(), make(chan uint64, 4*len(all))
	l.mu.Lock()
	l.echoed = func(t votes.Term) {
		if t.Candidate == id {
			select {
			case answers <- t.Number:
			default:
			}
		}
	}
	l.mu.Unlock()
	over := time.After(l.o.ConnectTimeout / 4)
	for len(heard) < len(all) {
		for i, addr := range all {
			if !slices.Contains(heard, addr) {
				client.SendTo([]netip.AddrPort{addr}, wire.Packet{Space: l.settings.space, Vote: votes.Message{Lock: l.o.Name, Withdrawal: &votes.Withdrawal{Term: votes.Term{Candidate: id, Number: uint64(i) + 1}}}})
			}
		}
		again := time.After(200 * time.Millisecond)
		for waiting := true; waiting && len(heard) < len(all); {
			select {
			case n := <-answers:
				if addr := all[(n-1)%uint64(len(all))]; !slices.Contains(heard, addr) {
					heard = append(heard, addr)
				}
			case <-again:
				waiting = false
			case <-over:
				return heard
			case <-ctx.Done():
				return heard
			}
		}
	}
	return heard
}

// probe asks the voter at one address over TCP.
func (l *Lock) probe(ctx context.Context, client *wire.Client, addr netip.AddrPort, heard bool) locks.Server {
	s := locks.Server{Address: addr.String()}
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	began := time.Now()
	r, err := client.CallAt(ctx, addr, &wire.Call{Group: l.settings.group})
	s.RTT = time.Since(began)
	switch {
	case err != nil:
		s = locks.Server{Address: s.Address, Error: "over TCP: " + err.Error(), Class: "unavailable"}
		if heard {
			s.Error += "; over UDP it answers"
		}
		return s
	case !heard:
		return locks.Server{Address: s.Address, Error: "it answers over TCP, but not over UDP", Class: "unavailable"}
	}
	s.Version, s.Role = r.Version, "voter for "+r.Age.Round(time.Second).String()
	if r.Opens > 0 {
		s.Role = fmt.Sprintf("votes in %v, because %s", r.Opens.Round(time.Second), r.Why)
	}
	s.Time, s.Ours = r.Time, began.Add(s.RTT/2)
	return s
}

// findVoters looks for what each voter says of itself.
func (v *view) findVoters(to *locks.Servers) {
	worst, worstAt := 0.0, ""
	rate := func(share float64, at string) {
		if math.Abs(share) >= math.Abs(worst) {
			worst, worstAt = share, at
		}
	}
	if share, ok := voter.Rate(); ok {
		rate(share, "this host")
	}
	for seat, name := range v.settings.names {
		r := v.replies[seat]
		if r == nil {
			continue
		}
		if !v.counts(r) {
			to.Find("group", locks.LevelError, fmt.Sprintf("here it is %s, but at %s it is %s", wire.List(v.settings.names, v.settings.group), name, r.List), "write the same hosts and longest= everywhere; see the page on changing them")
			continue
		}
		if r.Rate != nil {
			rate(*r.Rate, name)
		}
		if r.Partial {
			to.Find("records", locks.LevelWarning, name+" is new, and has not yet gathered the records of enough others", "see that the others run; it needs most of them once")
		}
		if n := r.Refused[0]; n > 0 {
			to.Find("version", locks.LevelWarning, fmt.Sprintf("%s has got %d packets of another version of leaderrun, or of another program", name, n), "upgrade voters first")
		}
		if n := r.Refused[1]; n > 0 {
			to.Find("key", locks.LevelWarning, fmt.Sprintf("%s has got %d packets that none of its keys opens", name, n), "see that all hosts have the same key-file=; to change a key, add the new one everywhere first")
		}
	}
	if worstAt == "" {
		return
	}
	text := fmt.Sprintf("the greatest correction by which a kernel keeps its clock right is %.0f ppm, at %s", 1e6*worst, worstAt)
	if math.Abs(worst) > worstRate {
		to.Find("clocks", locks.LevelError, text, "repair this clock: if it runs more than 500 ppm wrong, two runs could lead")
	} else {
		to.Find("clocks", locks.LevelOK, text, "")
	}
}

// findRivals looks for seats in which more than one voter was heard of.
func (v *view) findRivals(to *locks.Servers) {
	for seat, name := range v.settings.names {
		var ids []string
		hosts, two := map[string]bool{}, false
		for _, r := range v.replies {
			if v.counts(r) && seat < len(r.Seen) {
				ids = append(ids, r.Seen[seat]...)
				two = two || len(r.Seen[seat]) > 1
			}
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		for _, id := range ids {
			host, _, _ := strings.Cut(id, "-")
			hosts[host] = true
		}
		if two || len(hosts) > 1 { // not one that has just booted again, of which not all have heard
			to.Find("seats", locks.LevelError, fmt.Sprintf("more than one voter claims the seat %s: %s", name, strings.Join(ids[:min(len(ids), 4)], ", ")), "stop all but one for good; a voter whose state directory was replaced is known by its old id for some minutes")
		}
	}
}

var _ locks.Prober = (*Lock)(nil)
