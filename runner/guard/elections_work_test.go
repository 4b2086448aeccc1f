package guard

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// A work is a job: one process, the child of its guard.
type work struct {
	host  *node
	token uint64
	pid   int
	deaf  bool          // it ignores signals
	tidy  time.Duration // from a signal until it ends
	dying time.Duration // from SIGKILL until it is gone
	stays bool          // it survives its guard, because it is not the first process

	began   time.Duration
	gone    time.Duration
	alive   bool
	killed  bool
	asked   bool
	excused string // why it may run while somebody else can have the lock
	status  syscall.WaitStatus
	reaped  bool
	ended   chan<- os.Signal // notifies the guard
}

// newWork starts a job. The caller holds mu.
func (h *node) newWork(c proc.Command, ended chan<- os.Signal) *work {
	h.worked++
	r := h.w.dice(ofWorks, h.id, h.worked)
	t := h.w.timing
	k := &work{
		host: h, token: tokenIn(c.Env), pid: 1000*(h.id+1) + h.worked, alive: true, began: h.w.now(), ended: ended,
		deaf: r.IntN(3) == 0, tidy: below(r, t.Grace*5/4+1), dying: []time.Duration{0, t.Death - below(r, time.Millisecond), below(r, t.Death)}[r.IntN(3)],
		stays: r.IntN(2) == 0,
	}
	h.w.note(h.id, "job starts", int64(k.token))
	h.w.checkStart(k)
	h.w.works = append(h.w.works, k)
	h.work = k
	if lasts, ends := h.lasts(r); ends {
		h.later(lasts, func() { k.end(syscall.WaitStatus(r.IntN(2) << 8)) })
	}
	return k
}

// lasts returns how long a job runs if nobody ends it, and whether it ends by itself.
func (h *node) lasts(r *rand.Rand) (d time.Duration, ends bool) {
	switch n := r.IntN(20); {
	case n == 0:
		return 0, false
	case n < 3:
		return below(r, 3*h.w.timing.TTL), true
	}
	return below(r, h.w.timing.TTL/10), true
}

func tokenIn(env []string) uint64 {
	for _, kv := range env {
		if text, ok := strings.CutPrefix(kv, "LEADERRUN_TOKEN="); ok {
			n, _ := strconv.ParseUint(text, 10, 64)
			return n
		}
	}
	return 0
}

// signal is called when the job is signalled. The caller holds mu.
func (k *work) signal(sig syscall.Signal) {
	switch {
	case !k.alive:
	case sig == syscall.SIGKILL && !k.killed:
		k.killed = true
		if !k.asked {
			k.host.w.checkKill(k)
		}
		k.host.w.note(k.host.id, "job is killed", int64(k.token))
		k.dies(k.dying, 9)
	case sig == syscall.SIGTERM && !k.asked:
		k.asked = true
		k.host.w.checkKill(k)
		k.host.w.note(k.host.id, "job is asked to end", int64(k.token))
		if !k.deaf {
			k.dies(k.tidy, 15)
		}
	}
}

// dies ends the job after a while. The caller holds mu.
func (k *work) dies(after time.Duration, status syscall.WaitStatus) {
	if after == 0 && !k.host.suspended {
		k.end(status)
		return
	}
	k.host.later(after, func() { k.end(status) })
}

// end ends the job. The caller holds mu.
func (k *work) end(status syscall.WaitStatus) {
	if !k.alive {
		return
	}
	w := k.host.w
	k.alive, k.gone, k.status = false, w.now(), status
	w.note(k.host.id, "job ends", int64(k.token))
	w.checkEnd(k)
	select {
	case k.ended <- syscall.SIGCHLD:
	default:
	}
}
