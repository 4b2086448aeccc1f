package gossip

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Probe implements [locks.Prober]. It asks each seed over TCP and over UDP, and says what
// the voters have answered.
func (l *Lock) Probe(ctx context.Context) (locks.Servers, error) {
	found := locks.Servers{Product: "leaderrun"}
	v := newView(l.settings.group)
	sent := time.Now()
	var err error
	if l.elder != nil {
		if err = l.join(ctx, false); err == nil {
			err = l.elder.greet(ctx)
		}
	} else {
		err = l.look(ctx, v, nil, func() bool { return v.voted() >= v.group.Seats })
	}
	l.mu.Lock()
	n, seeds := l.node, l.seeds
	l.mu.Unlock()
	if n == nil {
		return found, l.fail(ctx, "probe", err)
	}
	took := time.Since(sent)
	for _, seed := range seeds[:min(len(seeds), locks.MaxServers)] {
		found.Servers = append(found.Servers, l.probe(ctx, v, seed))
	}
	if l.elder != nil {
		l.findViews(n, &found)
		return found, nil
	}
	if err != nil {
		found.Find("majority", locks.LevelError, err.Error(), "see that expect= members run, each at a seat of its own, with the same key, and that no firewall drops their UDP or TCP")
	} else {
		found.Find("majority", locks.LevelOK, fmt.Sprintf("%d of %d members vote, and have answered within %v", v.voted(), v.group.Seats, took.Round(time.Millisecond)), "")
	}
	l.findFaults(v, &found)
	l.findRates(ctx, v, &found)
	return found, nil
}

// probe asks one seed. It connects to it over TCP; over UDP the seed has got a look.
func (l *Lock) probe(ctx context.Context, v *view, seed netip.AddrPort) locks.Server {
	s := locks.Server{Address: seed.String()}
	began := time.Now()
	conn, err := (&net.Dialer{Timeout: l.o.ConnectTimeout}).DialContext(ctx, "tcp", seed.String())
	if err != nil {
		s.Error, s.Class = "over TCP: "+err.Error(), "unavailable"
		return s
	}
	s.RTT = time.Since(began)
	_ = conn.Close() // nothing was sent
	if l.elder != nil {
		return s
	}
	for _, p := range v.answers {
		if p.From != seed {
			continue
		}
		f := p.Found
		s.Version, s.Role = f.Version, "voter for "+f.Age.Round(time.Second).String()
		if f.opens() > 0 {
			s.Role = fmt.Sprintf("has just started, votes in %v", f.opens().Round(time.Second))
		}
		s.Time, s.Ours = f.Time, time.Now().Add(p.at.Sub(clock.Boot{}.Now()))
		return s
	}
	s.Error, s.Class = "it accepts connections over TCP, but no voter answers over UDP", "unavailable"
	return s
}

// findFaults looks for members that do not belong together, and for votes that disagree.
func (l *Lock) findFaults(v *view, to *locks.Servers) {
	var terms, groups []string
	for _, p := range v.answers {
		f := p.Found
		if group := fmt.Sprintf("expect=%d and longest=%v at %v", f.Group.Seats, f.Group.Longest, p.From); f.Group != v.group {
			groups = append(groups, group)
		}
		if f.Left > 0 && !slices.Contains(terms, f.To.Candidate) {
			terms = append(terms, f.To.Candidate)
		}
	}
	slices.Sort(groups)
	for _, group := range groups[:min(len(groups), 8)] {
		to.Find("members", locks.LevelError, group, "stop all members, and start them again with the same settings")
	}
	if n := len(v.answers) - len(groups); n > v.group.Seats {
		to.Find("members", locks.LevelError, fmt.Sprintf("%d members vote, but expect=%d", n, v.group.Seats), "two could lead: stop those that are too many, and see that each seat of expect= is one address")
	}
	if len(terms) > 1 {
		to.Find("votes", locks.LevelWarning, "the voters are bound to different runs", "this is so for a moment after an election; if it stays, two networks may have been joined")
	}
	l.findKey(to)
}

// findRates compares the rates of boot clocks with ours, by the ages of the voters now and a
// moment later.
func (l *Lock) findRates(ctx context.Context, v *view, to *locks.Servers) {
	if len(v.answers) == 0 || backoff.Sleep(ctx, 300*time.Millisecond) != nil {
		return
	}
	later := newView(v.group)
	_ = l.look(ctx, later, nil, func() bool { return len(later.answers) >= len(v.answers) })
	worst, wrong := v.rates(later)
	for _, text := range wrong[:min(len(wrong), 8)] {
		to.Find("clocks", locks.LevelError, text, "repair this clock: if two run more than 0.1 % apart, two runs could lead")
	}
	if len(wrong) == 0 {
		to.Find("clocks", locks.LevelOK, fmt.Sprintf("their rates differ by at most %.2g %%, as far as a moment can tell", 100*worst), "")
	}
}

// rates compares ages with those in a later view, and returns the greatest difference that is
// possible, as a share, and what is certainly wrong. An answer tells an age between the
// moment at which it was asked for and that at which it arrived.
func (v *view) rates(later *view) (worst float64, wrong []string) {
	for voter, p := range v.answers {
		q, ok := later.answers[voter]
		if !ok {
			continue
		}
		theirs := q.Found.Age - p.Found.Age
		least, most := later.asked.Sub(p.at), q.at.Sub(v.asked) // of our time
		worst = max(worst, math.Abs(theirs.Seconds()/least.Seconds()-1), math.Abs(theirs.Seconds()/most.Seconds()-1))
		if theirs < least-least/1000 || theirs > most+most/1000 {
			wrong = append(wrong, fmt.Sprintf("the boot clock of %v counts %v while ours counts %v to %v", p.From, theirs, least, most))
		}
	}
	return worst, wrong
}

// findViews says what a lock without votes is, and what this member sees.
func (l *Lock) findViews(n *node, to *locks.Servers) {
	v, level := l.elder.view(), locks.LevelOK
	if n := len(v.leads()); n > 1 {
		level = locks.LevelWarning
	}
	to.Find("members", level, fmt.Sprintf("%d members are in sight; %d contend for this lock, and %d lead", len(n.inSight()), len(v.all), len(v.leads())), "")
	to.Find("exclusion", locks.LevelWarning, "without expect=N each part of a network that is cut may have its own leader", "write expect=N if the job must run once at most")
	l.findKey(to)
}

func (l *Lock) findKey(to *locks.Servers) {
	if l.settings.keys == nil {
		to.Find("key", locks.LevelWarning, "anybody who can send to the members can take part", "give all of them key-file=, unless they are on one machine")
	}
}

var _ locks.Prober = (*Lock)(nil)
