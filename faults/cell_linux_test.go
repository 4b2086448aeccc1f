package faults

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/faults/host"
	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

const (
	// machines is how many hosts contend for a lock, unless the plan says otherwise.
	machines = 3
	// ttl is the lease that they ask for.
	ttl = 5 * time.Second
	// patience is how soon after the last fault a host must lead again, on a busy
	// machine. Time in which processes demonstrably waited for a processor does not
	// count, up to most.
	patience = 60 * time.Second
	most     = 5 * patience
)

// A cell is one lock, and the hosts that contend for it.
type cell struct {
	t      *testing.T
	plan   plan
	store  *store
	hosts  []*machine
	dir    string
	cookie string
	only   *regexp.Regexp // which faults are used
	jobs   *regexp.Regexp // which manners of jobs are used
	many   int            // how many leaderruns are started at once, at least
	stop   chan struct{}
	harmed chan struct{} // closed by harm
	harm   func()        // a fault has been done
	spared bool          // none was selected
	live   sync.WaitGroup
	calm   sync.RWMutex // is read-locked by a fault of a host or its network

	begun, present atomic.Int32 // faults

	threadless int // jobs that got no thread

	mu       sync.Mutex
	statuses map[int]int // how many leaderruns ended with each status
}

// runCell runs a cell for a while, and judges it.
func runCell(t *testing.T, p plan, s *suite) *oracle.Verdict {
	t.Helper()
	c := newCell(t, p, s)
	end := sync.OnceFunc(c.end)
	t.Cleanup(end)
	for _, m := range c.hosts {
		c.live.Go(m.live)
	}
	c.led(clock.Boot{}.Now())
	harass(c, s.length, s.seed)
	c.led(clock.Boot{}.Now())
	end()
	t.Logf("exit statuses: %v", c.statuses)
	c.checkJobs()
	c.checkStatuses()
	return c.judge(s)
}

func newCell(t *testing.T, p plan, s *suite) *cell {
	t.Helper()
	c := &cell{
		t: t, plan: p, store: p.store(t, p), dir: t.TempDir(), stop: make(chan struct{}), harmed: make(chan struct{}), statuses: map[int]int{},
		cookie: fmt.Sprint("faults-", p.name, "-", os.Getpid(), "-", s.seed), only: s.only, jobs: s.jobs, many: 50,
	}
	if s.length == shortRun { // other tests run meanwhile
		c.many = 10
	}
	c.harm = sync.OnceFunc(func() { close(c.harmed) })
	for i, h := range host.New(t, host.Options{Hosts: p.machines(), Servers: c.store.servers, Routed: c.store.members, Apart: c.store.members}) {
		c.hosts = append(c.hosts, newMachine(c, h, i, s.seed))
	}
	s.lack(c.hosts[0].Lacks())
	if c.store.members && c.hosts[0].Address() == "" {
		realserver.Missing(t, "without networks of their own (root, and ip(8)), the hosts cannot be the store")
	}
	if c.store.begin != nil {
		c.store.begin(c)
	}
	return c
}

func (c *cell) file(name string) string { return filepath.Join(c.dir, name) }

// note records an event that has just ended.
func (c *cell) note(e trace.Entry) {
	if err := trace.AddTo(c.file("trace"), e); err != nil {
		c.t.Error(err)
	}
}

// ended reports whether hosts must start no more leaderruns.
func (c *cell) ended() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// led waits until a job has begun after a moment.
func (c *cell) led(after clock.Instant) {
	c.t.Helper()
	complain := c.t.Errorf
	if c.plan.shown() {
		complain = c.t.Logf
	}
	begun := time.Now()
	before, _ := trial.Waited()
	for ; ; time.Sleep(50 * time.Millisecond) {
		all, err := trace.ReadAll(c.file("trace"))
		if err != nil && !os.IsNotExist(err) {
			c.t.Fatal(err)
		}
		for _, e := range slices.Backward(all) {
			if e.Kind == trace.Start && e.At > after {
				return
			}
		}
		waited, _ := trial.Waited()
		if took := time.Since(begun); took-(waited-before) > patience || took > most {
			complain("nobody has led for %v, in %v of which processes waited for a processor, though there is no fault\n%s",
				took.Round(time.Second), (waited - before).Round(time.Second), c.logs())
			return
		}
	}
}

// end ends all hosts, as an operator would.
func (c *cell) end() {
	c.note(trace.Entry{Kind: trace.Stopped})
	close(c.stop)
	over := make(chan struct{})
	go func() { c.live.Wait(); close(over) }()
	for _, usual := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		for _, m := range c.hosts {
			sig := usual
			if m.peer() != nil { // it may not end at all
				sig = unix.SIGKILL
			}
			if p, ok := m.running(); ok {
				_ = m.Signal(p, sig)
			}
		}
		select {
		case <-over:
			return
		case <-time.After(patience):
			c.t.Errorf("leaderruns have not ended %v after %v\n%s", patience, usual, c.logs())
		}
	}
	<-over
}

// judge judges the records.
func (c *cell) judge(s *suite) *oracle.Verdict {
	h, err := oracle.Read(c.file("trace"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.checkRecords(h)
	o := oracle.Options{
		Seed: s.seed, TTL: max(c.plan.ttl(), c.store.least), Cookie: c.cookie, Dir: s.records, Network: cutting(), Silent: []string{exhausted, jobFrozen}, Frozen: []string{frozen, frozenBoth, machineFrozen}, Machine: machineFrozen, Logs: c.printed(), NoTokens: c.plan.peer != nil,
		Drains: c.plan.drains, Ranked: c.plan.ranked, Once: c.plan.once, Epoch: time.Now().Add(-time.Duration(clock.Boot{}.Now())),
	}
	ours := h.Slot(0)
	if c.plan.contender != nil {
		ours = ours.Without(c.hosts[0].name)
	}
	v := oracle.Judge(ours, o)
	if c.plan.contender != nil {
		v.Against(h, c.hosts[0].name, c.store.leases())
	}
	for slot := range c.plan.slots {
		of := oracle.Judge(h.Slot(slot+1), o)
		of.Figures.Faults = nil // the same again
		v.Join(of)
	}
	if c.plan.shown() { // but nothing of leaderrun may crash
		c.checkCrashes()
		return v
	}
	if len(v.Wrong) > 0 {
		c.t.Error(v)
	}
	if !c.t.Failed() {
		return v
	}
	kept := filepath.Join(s.records, c.cookie)
	if err := os.CopyFS(kept, os.DirFS(c.dir)); err != nil {
		c.t.Error(err)
	}
	c.t.Logf("what was written down is kept in %s", kept)
	return v
}

// checkRecords fails if there is nothing that an oracle could judge. All of it exists
// once the first jobs have run.
func (c *cell) checkRecords(h oracle.History) {
	if c.plan.peer != nil {
		return // a peer has neither tokens nor a socket
	}
	wrote := slices.ContainsFunc(h.Entries, func(e trace.Entry) bool { return e.Kind == trace.Write })
	harmed := slices.ContainsFunc(h.Entries, func(e trace.Entry) bool { return e.Kind == trace.Fault })
	knew := slices.ContainsFunc(h.Stays, func(s oracle.Stay) bool { return s.Until != 0 })
	if slices.ContainsFunc(h.Entries, func(e trace.Entry) bool { return e.Slot > c.plan.slots }) {
		c.t.Error("a job had a slot that the lock does not have")
	}
	if leases := c.store.leases(); !wrote || !harmed && !c.spared || leases && !knew {
		c.t.Errorf("nothing to judge: writes %v, faults %v, jobs that know of a lease %v", wrote, harmed, knew)
	}
}

func (c *cell) logs() (all string) {
	for _, m := range c.hosts {
		text, _ := os.ReadFile(m.log())
		all += fmt.Sprintf("[%s]\n%s", m.name, text[max(0, len(text)-2000):])
	}
	return all
}

// count notes the exit status of a leaderrun.
func (c *cell) count(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statuses[status]++
}

// printed returns the files that an oracle reads. A peer's output is not judged.
func (c *cell) printed() (files []string) {
	for _, m := range c.hosts {
		if m.peer() == nil {
			files = append(files, m.log())
		}
	}
	return files
}

// alarming matches the lines of jobs that could not continue.
var alarming = regexp.MustCompile(`(?m)^(?:subject|trace|panic|fatal error): .*`)

// noThread is what Go prints when it gets no thread, and aborts. That is allowed for a job
// that begins at a limit of tasks.
const noThread = "fatal error: newosproc"

// checkJobs reports the other lines: a job that could not record what it did cannot be
// judged.
func (c *cell) checkJobs() {
	for _, m := range c.hosts {
		text, _ := os.ReadFile(m.jobs()) // missing if nothing was started
		said := alarming.FindAllString(string(text), -1)
		all := len(said)
		said = slices.DeleteFunc(said, func(line string) bool { return line == noThread })
		c.threadless += all - len(said)
		if len(said) > 0 {
			c.t.Errorf("host %s, %d times: %s", m.name, len(said), said[0])
		}
	}
}

// checkCrashes reports each leaderrun, guard and helper that has aborted.
func (c *cell) checkCrashes() {
	for _, file := range c.printed() {
		text, _ := os.ReadFile(file) // missing if nothing was started
		if all := oracle.Crashes(text); len(all) > 0 {
			c.t.Errorf("%d crashes, such as: %s", len(all), all[0])
		}
	}
}

// checkStatuses reports statuses that show an error in leaderrun or in this suite: bad
// usage, a bad configuration, a panic, a missing job. It allows 2 if a job got no thread,
// 70 because a guard may be killed while it receives its task, and 126 because there may
// be no descriptor to look at the job.
func (c *cell) checkStatuses() {
	if c.plan.peer != nil {
		return
	}
	for _, status := range slices.Sorted(maps.Keys(c.statuses)) {
		if status == 2 && c.statuses[status] <= c.threadless {
			continue
		}
		if slices.Contains([]int{2, 64, 78, 127}, status) {
			c.t.Errorf("%d leaderruns ended with %d\n%s", c.statuses[status], status, c.logs())
		}
	}
}
