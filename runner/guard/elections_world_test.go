//go:build unix

package guard

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A world is one schedule of the tier of TestElections: a store, some hosts, and
// what befalls them. Its true time is that of its synctest bubble, and what all
// hosts slept through, of which Go's timers know nothing.
type world struct {
	plan
	t     *testing.T
	start time.Time
	slept atomic.Int64
	done  sync.WaitGroup // the hosts' loops, and the guards

	mu     sync.Mutex // guards all that follows, and all of the store and the hosts
	store  *store
	hosts  []*node
	works  []*work
	over   bool          // no host campaigns again
	until  time.Duration // when the faults end, by Go's clock
	jumped time.Duration // when all hosts slept last, by Go's clock
	led    chan struct{} // closed when a job runs after the faults
	trace  []entry
	wrong  []string       // what the oracles found, the first with what led to it
	broke  map[string]int // the same, by promise
	tally
}

// A tally is what is counted.
type tally struct {
	elections int
	faults    map[kind]int
	excused   map[string]int
	slack     time.Duration // the least from the end of a job to that of its lease
	outrun    time.Duration // the longest that a job ran after its lease was taken away
}

// An entry says what happened when, and to which host; -1 is the store.
type entry struct {
	at   time.Duration
	host int
	what string
	n    int64 // a token, as a rule
}

func (e entry) String() string {
	who := "store "
	if e.host >= 0 {
		who = fmt.Sprintf("host %d", e.host)
	}
	return fmt.Sprintf("%14v %s %s %d", e.at, who, e.what, e.n)
}

func newWorld(t *testing.T, p plan) *world {
	w := &world{plan: p, t: t, start: time.Now(), until: p.length}
	w.faults, w.excused, w.slack, w.broke = map[kind]int{}, map[string]int{}, time.Hour, map[string]int{}
	w.led = make(chan struct{})
	w.store = &store{w: w, clock: skewed{ppm: p.storePPM}, changed: make(chan struct{})}
	for i := range p.hosts {
		w.hosts = append(w.hosts, newHost(w, i))
	}
	return w
}

// now is the true time since the start.
func (w *world) now() time.Duration { return w.elapsed() + time.Duration(w.slept.Load()) }

// elapsed is Go's time since the start.
func (w *world) elapsed() time.Duration { return time.Since(w.start) }

// note records that something happens now; mu is held.
func (w *world) note(host int, what string, n int64) {
	w.trace = append(w.trace, entry{w.now(), host, what, n})
}

// broken is called when a promise is broken; mu is held.
func (w *world) broken(promise, format string, args ...any) {
	w.broke[promise]++
	text := promise + ": " + fmt.Sprintf(format, args...)
	w.note(-1, "BROKEN "+text, 0)
	if len(w.wrong) == 0 { // what led to it is at the end of the trace
		const excerpt = 40
		var b strings.Builder
		for _, e := range w.trace[max(0, len(w.trace)-excerpt):] {
			fmt.Fprintf(&b, "\n\t%v", e)
		}
		text += b.String()
	}
	w.wrong = append(w.wrong, text)
}

// A skewed clock goes wrong by so many parts per million.
type skewed struct {
	epoch clock.Instant
	ppm   int64
}

// at is what the clock shows at a true time.
func (c skewed) at(t time.Duration) clock.Instant {
	return c.epoch.Add(t + t/1e6*time.Duration(c.ppm) + t%1e6*time.Duration(c.ppm)/1e6)
}

// when is the true time at which the clock shows i, to the nanosecond.
func (c skewed) when(i clock.Instant) time.Duration {
	return time.Duration(float64(i.Sub(c.epoch)) / (1 + float64(c.ppm)/1e6))
}

// A process is a leaderrun or a guard. What it does to the rest of the world
// passes its gate. It is frozen by closing that, and stopping its clock: what its
// goroutines still do happens, as far as anybody can see, when it goes on. That
// is what a process does that is stopped on its way to a system call.
type process struct {
	w     *world
	host  *node
	dead  chan struct{} // closed
	ended func()        // called once when it dies; mu is not held

	thawed chan struct{} // closed when it goes on; nil: it is not frozen
	froze  clock.Instant
	woke   time.Duration // when it went on, by Go's clock
}

func newProcess(h *node) *process { return &process{w: h.w, host: h, dead: make(chan struct{})} }

// Now implements clock.Clock.
func (p *process) Now() clock.Instant {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if p.thawed != nil {
		return p.froze
	}
	return p.host.clock.at(p.w.now())
}

// gate returns when the process is not frozen, and false if it is dead.
func (p *process) gate() bool {
	for {
		p.w.mu.Lock()
		thawed := p.thawed
		p.w.mu.Unlock()
		if p.isDead() {
			return false
		}
		if thawed == nil {
			return true
		}
		select {
		case <-thawed:
		case <-p.dead:
		}
	}
}

func (p *process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// freeze stops it; mu is held.
func (p *process) freeze() {
	if p != nil && p.thawed == nil {
		p.thawed, p.froze = make(chan struct{}), p.host.clock.at(p.w.now())
	}
}

// thaw has it go on; mu is held.
func (p *process) thaw() {
	if p != nil && p.thawed != nil {
		close(p.thawed)
		p.thawed, p.woke = nil, p.w.elapsed()
	}
}

// die ends it.
func (p *process) die() {
	p.w.mu.Lock()
	first := !p.isDead()
	if first {
		close(p.dead)
	}
	p.w.mu.Unlock()
	if first {
		p.ended()
	}
}

// hiccuped reports whether its clock has jumped in this very moment; mu is held.
func (p *process) hiccuped() bool {
	now := p.w.elapsed()
	return now > 0 && (p.woke == now || p.w.jumped == now)
}

var _ clock.Clock = (*process)(nil)
