package fleet

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/runner/window"
)

// hosts is the size of a fleet that runs a job from cron.
const hosts = 5

// A day is what cron does on all hosts, as planned.
type day struct {
	spec    string
	zone    string // TZ of all hosts
	begin   time.Time
	windows int           // number of windows
	every   time.Duration // the length of each, except where clocks change
	fast    time.Duration // how long a window lasts in this test
}

func (d day) factor() int64 { return int64(d.every / d.fast) }

// A firing is one start of the job by cron, on one host.
type firing struct {
	host int
	slot int           // the intended window of the day, from 0
	at   time.Time     // when it is started, by the host's own clock
	wait string        // an option of leaderrun, or ""
	job  []string      // arguments
	kill time.Duration // kill leaderrun this long after its start; 0 means not to
}

// slots returns the first moment of each of the day's windows, and of the one after the
// last.
func (d day) slots(s window.Schedule) []time.Time {
	next := s.Ends(d.begin)
	all := []time.Time{next}
	for range d.windows {
		next = s.Ends(next)
		all = append(all, next)
	}
	return all
}

// plan plans the firings of all hosts for all windows, given their first moments.
// Cron starts the job some seconds after a window begins; some hosts are early,
// some are late, some start it twice.
func (d day) plan(r *rand.Rand, slots []time.Time, rude int) []firing {
	var all []firing
	for i, begin := range slots[:len(slots)-1] {
		long := min(slots[i+1].Sub(begin), 3*d.every) // the last window of a night lasts for a day
		for host := range hosts {
			after := upTo(r, 20*time.Second)
			switch n := r.IntN(10); {
			case n == 0:
				after = upTo(r, long*2/3)
			case n == 1:
				after = -upTo(r, 90*time.Second)
			}
			all = append(all, d.fire(r, host, i, begin.Add(after), rude))
			if r.IntN(10) == 0 {
				all = append(all, d.fire(r, host, i, begin.Add(after+upTo(r, long/3)), rude))
			}
		}
	}
	return all
}

// victims are what a job may kill.
var victims = []string{"job", "guard", "leaderrun"}

// evils are what happens to the job in each of the first windows, so that even a short
// day has all of them: the arguments of a job that works for the given time.
var evils = []func(long string) []string{
	func(long string) []string { return []string{"job", long, "success", victims[0], "50"} },
	func(long string) []string { return []string{"job", long, "success", victims[1], "50"} },
	func(long string) []string { return []string{"job", long, "success", victims[2], "50"} },
	func(long string) []string { return []string{"job", long, "failure"} },
}

// fire decides what happens to one firing.
func (d day) fire(r *rand.Rand, host, slot int, at time.Time, rude int) firing {
	f := firing{host: host, slot: slot, at: at}
	switch n := r.IntN(100); {
	case n < rude:
		f.wait = "-n"
	case n < rude+10:
		f.wait = "-w" + strconv.FormatFloat(0.1+2*r.Float64(), 'f', 2, 64)
	}
	long := d.fast/10 + upTo(r, d.fast/2)
	if r.IntN(25) == 0 {
		long = d.fast + upTo(r, d.fast/2) // beyond the end of the window
	}
	end := "success"
	if r.IntN(4) == 0 {
		end = "failure"
	}
	f.job = []string{"job", long.String(), end}
	switch n := r.IntN(100); {
	case n < 15: // mostly while it works, rarely between its success and its record
		percent := r.IntN(104)
		f.job = append(f.job, victims[r.IntN(len(victims))], strconv.Itoa(min(percent, 100)))
	case n < 20:
		f.kill = 1 + upTo(r, d.fast)
	}
	if slot < len(evils) {
		f.job, f.kill = evils[slot](long.String()), 0
	}
	return f
}

// again plans one more firing for a window without a success, on the next host. After
// some tries nothing fails any more.
func (d day) again(r *rand.Rand, before firing, tries int) firing {
	f := d.fire(r, (before.host+1)%hosts, before.slot, before.at, 0)
	if tries > 3 {
		f.job, f.kill, f.wait = []string{"job", (d.fast / 10).String(), "success"}, 0, ""
	}
	return f
}

func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
