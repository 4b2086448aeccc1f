package guard

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A world is one schedule of TestElections: a store, some hosts, and their faults. Its true
// time is the time of its synctest bubble and the time for which all hosts slept, which Go's
// timers do not notice.
type world struct {
	plan
	t     *testing.T
	start time.Time
	slept atomic.Int64
	done  sync.WaitGroup // the hosts' loops, and the guards

	mu     sync.Mutex // protects the fields below, the store and the hosts
	store  *store
	hosts  []*node
	works  []*work
	over   bool          // no host campaigns again
	until  time.Duration // when the faults end, by Go's clock
	jumped time.Duration // when all hosts slept last, by Go's clock
	jumps  chan struct{} // closed when all hosts sleep the next time
	led    chan struct{} // closed when a job runs after the faults
	trace  []entry
	wrong  []string       // broken promises; the first one with the end of the trace
	broke  map[string]int // how often each promise was broken
	tally
}

// A tally has counts and extremes.
type tally struct {
	elections int
	faults    map[kind]int
	excused   map[string]int
	slack     time.Duration // the shortest time from the end of a job to the end of its lease
	outrun    time.Duration // the longest time that a job ran after its lease was taken away
}

// An entry says what happened, when and on which host; -1 is the store.
type entry struct {
	at   time.Duration
	host int
	what string
	n    int64 // usually a token
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
	w.led, w.jumps = make(chan struct{}), make(chan struct{})
	w.store = &store{w: w, clock: skewed{ppm: p.storePPM}, changed: make(chan struct{})}
	for i := range p.hosts {
		w.hosts = append(w.hosts, newHost(w, i))
	}
	return w
}

// now returns the true time since the start.
func (w *world) now() time.Duration { return w.elapsed() + time.Duration(w.slept.Load()) }

// elapsed returns Go's time since the start.
func (w *world) elapsed() time.Duration { return time.Since(w.start) }

// note records that something happens now. The caller holds mu.
func (w *world) note(host int, what string, n int64) {
	w.trace = append(w.trace, entry{w.now(), host, what, n})
}

// broken is called when a promise is broken. The caller holds mu.
func (w *world) broken(promise, format string, args ...any) {
	w.broke[promise]++
	text := promise + ": " + fmt.Sprintf(format, args...)
	w.note(-1, "BROKEN "+text, 0)
	if len(w.wrong) == 0 { // the end of the trace shows what led to it
		const excerpt = 40
		var b strings.Builder
		for _, e := range w.trace[max(0, len(w.trace)-excerpt):] {
			fmt.Fprintf(&b, "\n\t%v", e)
		}
		text += b.String()
	}
	w.wrong = append(w.wrong, text)
}

// A skewed clock is wrong by ppm parts per million.
type skewed struct {
	epoch clock.Instant
	ppm   int64
}

// at returns what the clock shows at a true time.
func (c skewed) at(t time.Duration) clock.Instant {
	return c.epoch.Add(t + t/1e6*time.Duration(c.ppm) + t%1e6*time.Duration(c.ppm)/1e6)
}

// when returns the true time at which the clock shows i, exact to the nanosecond.
func (c skewed) when(i clock.Instant) time.Duration {
	return time.Duration(float64(i.Sub(c.epoch)) / (1 + float64(c.ppm)/1e6))
}

// A process is a leaderrun or a guard. Its gate must let through all that it does to the rest
// of the world. To freeze it, its gate is closed and its clock is stopped. Its goroutines
// continue, but nobody sees what they do until it is thawed. The same is true of a process
// that is stopped on its way to a system call.
type process struct {
	w     *world
	host  *node
	dead  chan struct{} // closed
	ended func()        // called once when it dies, without mu

	thawed chan struct{} // closed when it is thawed; nil: it is not frozen
	froze  clock.Instant
	woke   time.Duration // when it was thawed, by Go's clock
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

// gate waits while the process is frozen. It returns false if the process is dead.
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

// freeze freezes the process. The caller holds mu.
func (p *process) freeze() {
	if p != nil && p.thawed == nil {
		p.thawed, p.froze = make(chan struct{}), p.host.clock.at(p.w.now())
	}
}

// thaw lets the process continue. The caller holds mu.
func (p *process) thaw() {
	if p != nil && p.thawed != nil {
		close(p.thawed)
		p.thawed, p.woke = nil, p.w.elapsed()
	}
}

// die ends the process.
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

// jumped reports whether its clock has jumped at this very moment. The caller holds mu.
func (p *process) jumped() bool {
	now := p.w.elapsed()
	return now > 0 && (p.woke == now || p.w.jumped == now)
}

// Alarm implements clock.Waker.
func (p *process) Alarm(at clock.Instant) clock.Alarm {
	if !p.w.wakes {
		return nil
	}
	return &alarm{p, at, make(chan struct{})}
}

// An alarm is one of the system's timers. If its moment comes while the host sleeps, it wakes
// the process when the host resumes.
type alarm struct {
	process *process
	at      clock.Instant
	stopped chan struct{}
}

func (a *alarm) Stop() {
	if !proc.IsClosed(a.stopped) {
		close(a.stopped)
	}
}

func (a *alarm) Wait() {
	for p := a.process; p.Now() < a.at && !proc.IsClosed(a.stopped); {
		p.w.mu.Lock()
		jumps, thawed, left := p.w.jumps, p.thawed, p.host.clock.when(a.at)-p.w.now()
		p.w.mu.Unlock()
		if thawed != nil { // its clock stands still
			left = time.Hour
		}
		select {
		case <-time.After(max(left, 1)):
		case <-jumps:
		case <-thawed:
		case <-p.dead:
			return
		case <-a.stopped:
		}
	}
}

var _ clock.Waker = (*process)(nil)
