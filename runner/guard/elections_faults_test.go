package guard

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// recovery is how long a job takes to die when a process of leaderrun has failed. A job only
// dies in time for certain if one of the two processes fails at a time.
const recovery = 3 * time.Second

// run plays one schedule: first faults, then a time without faults, in which somebody must
// lead again, and then the end, after which nothing is left.
func (w *world) run() {
	for _, h := range w.hosts {
		w.done.Go(h.live)
	}
	for _, f := range w.planned {
		time.AfterFunc(f.at, func() { w.begin(f) })
	}
	time.Sleep(w.length)
	w.mu.Lock()
	w.note(-1, "the faults are over", 0)
	for _, h := range w.hosts {
		h.network = ""
	}
	if slices.ContainsFunc(w.works, func(k *work) bool { return k.alive }) {
		w.leads()
	}
	w.mu.Unlock()
	select {
	case <-w.led:
	case <-time.After(w.timing.TTL + 10*time.Second):
		w.mu.Lock()
		w.broken("somebody leads again", "nobody does, so long after the last fault")
		w.mu.Unlock()
	}
	w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checkOverlaps()
}

// stop ends all hosts. It returns when nothing runs.
func (w *world) stop() {
	w.mu.Lock()
	w.over = true
	for _, h := range w.hosts {
		if l := h.leaderrun; l != nil {
			l.signals <- syscall.SIGTERM
		}
	}
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		w.done.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Minute):
		stacks := make([]byte, 1<<20)
		panic(fmt.Sprintf("seed %d: a run hangs\n%v\n%v\n%s", w.seed, w.plan, w.trace[max(0, len(w.trace)-40):], stacks[:runtime.Stack(stacks, true)]))
	}
}

// begin begins a fault.
func (w *world) begin(f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[f.host]
	if t := w.store.current; t != nil && f.leader {
		h = w.hosts[t.host]
	}
	f.lasts = max(min(f.lasts, w.until-w.elapsed()), 1)
	before := len(w.trace)
	var came bool
	switch {
	case slices.Contains(networkFaults, f.kind):
		came = h.beginNetwork(f)
	case slices.Contains(ofStore, f.kind):
		came = w.store.begin(f)
	case f.kind == suspendAll:
		came = w.sleep(f)
	default:
		came = h.begin(f)
	}
	if came {
		w.tally.faults[f.kind]++
		w.trace = slices.Insert(w.trace, before, entry{w.now(), h.id, "FAULT " + string(f.kind), int64(f.lasts)})
	}
}

// lasting begins a fault of a host, and ends it after a while.
func (h *node) lasting(d time.Duration, end func()) {
	h.troubles++
	time.AfterFunc(d, func() {
		h.w.mu.Lock()
		defer h.w.mu.Unlock()
		h.troubles--
		h.fineSince = h.w.now()
		end()
	})
}

// beginNetwork begins a fault of the network between a host and the store.
func (h *node) beginNetwork(f fault) bool {
	if h.network != "" {
		return false
	}
	h.network = f.kind
	h.lasting(f.lasts, func() { h.network = "" })
	return true
}

func (s *store) begin(f fault) bool {
	switch {
	case f.kind != restart:
		return s.evict()
	case s.down:
		return false
	}
	s.down = true
	for _, h := range s.w.hosts {
		h.lasting(f.lasts, func() {
			if s.down {
				s.restarted()
			}
		})
	}
	return true
}

// begin begins a fault of one or both of the host's processes.
func (h *node) begin(f fault) bool {
	l, g := h.leaderrun, h.guard
	if h.busy > h.w.elapsed() || l == nil || (f.kind == freezeGuard || f.kind == killGuard) && (h.work == nil || !h.work.alive || g.isDead()) {
		return false
	}
	h.fineSince = h.w.now()
	switch f.kind {
	case killLeaderrun:
		f.lasts = 1
		go l.die()
	case killGuard:
		f.lasts = 1
		go g.die()
	case freezeLeaderrun:
		l.freeze()
		h.lasting(f.lasts, l.thaw)
	case freezeGuard:
		g.freeze()
		h.lasting(f.lasts, g.thaw)
	case suspendHost:
		h.suspended, h.resumed = true, make(chan struct{})
		l.freeze()
		g.freeze()
		h.lasting(f.lasts, func() { h.resume(l, g) })
	}
	h.busy = h.w.elapsed() + f.lasts + recovery
	return true
}

// resume wakes up the host and its processes.
func (h *node) resume(l *leaderrun, g *process) {
	h.w.note(h.id, "resumes", 0)
	h.suspended, h.woke = false, h.w.now()
	close(h.resumed)
	l.thaw()
	g.thaw()
	if h.leaderrun != nil {
		h.leaderrun.thaw() // it was started meanwhile
	}
}

// sleep makes all hosts sleep at once. The store does not sleep.
func (w *world) sleep(f fault) bool {
	for _, h := range w.hosts {
		if h.busy > w.elapsed() {
			return false
		}
	}
	w.slept.Add(int64(f.lasts))
	w.jumped = w.elapsed()
	close(w.jumps)
	w.jumps = make(chan struct{})
	for _, h := range w.hosts {
		h.woke, h.fineSince = w.now(), w.now()
		h.busy = w.elapsed() + recovery
	}
	if w.store.tick(); w.store.current != nil {
		w.store.watch(w.store.current) // Go's timers do not notice that hosts sleep
	}
	return true
}
