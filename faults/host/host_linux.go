package host

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

// Options are what hosts have. The zero Options are one host without servers.
type Options struct {
	Hosts   int      // how many; 0: one
	Servers []string // "127.0.0.1:port" each
	Disk    int64    // bytes of each host's own file system; 0: 1 MiB
	Proxied bool     // no network of its own, even as root
	Routed  bool     // hosts reach each other, if they have networks
	Apart   bool     // their boot clocks differ
}

// A Host is a part of this machine that can be harmed. Its methods are safe for
// concurrent use. When the test ends, its faults are undone and its processes killed.
type Host struct {
	tb      testing.TB
	name    string // unique on this machine; it begins with prefix and our process id
	thread  *thread
	network *network // nil: no namespace
	cpu     *group   // nil: no cgroup
	tasks   *group   // nil: no cgroup
	memory  *group   // nil: no cgroup
	freezer *group   // nil: no cgroup
	disk    *disk    // nil: no file system of its own
	ahead   time.Duration
	lacks   map[string]error

	servers []string // in the order of Options
	proxies map[string]*faultproxy.Proxy
	alias   string // leads to the first server
	named   string // both of its addresses

	mu      sync.Mutex
	started []Process          // by Cmd.Start
	stopped map[Process]bool   // by Signal
	limits  map[Process]limits // before ExhaustFiles
}

// prefix begins the names of everything that a later process may have to remove. The
// process id of the owner follows.
const prefix = "leaderrun-host-"

// newName returns a name that is practically unique on this machine.
func newName() string {
	return fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), strconv.FormatUint(uint64(rand.Uint32()), 36))
}

// New makes hosts, which end with the test. It must be called from the test's goroutine.
func New(tb testing.TB, o Options) []*Host {
	tb.Helper()
	sweep()
	hosts := make([]*Host, max(o.Hosts, 1))
	for i := range hosts {
		hosts[i] = newHost(tb, o)
	}
	return hosts
}

func newHost(tb testing.TB, o Options) *Host {
	tb.Helper()
	h := &Host{
		tb: tb, name: newName(),
		lacks: map[string]error{}, proxies: map[string]*faultproxy.Proxy{}, servers: o.Servers,
		stopped: map[Process]bool{}, limits: map[Process]limits{},
	}
	h.addDisk(o.Disk)
	h.cpu = h.addGroup(CPU, cpuController)
	h.tasks = h.addGroup(Tasks, pidsController)
	h.memory = h.addGroup(Memory, memoryController)
	h.addFreezer()
	h.lack(Hidden, hides())
	h.thread = newThread()
	tb.Cleanup(h.thread.end)
	h.addNetwork(o.Proxied)
	if o.Routed && h.network != nil {
		h.check(h.network.route())
	}
	if o.Apart {
		h.lack(Clock, h.setClock())
	}
	ip := h.gateway()
	for _, s := range o.Servers {
		h.proxies[s] = faultproxy.NewAt(tb, ip, 0, s)
	}
	if h.network != nil && len(o.Servers) > 0 {
		h.lack(Names, h.addAlias())
	}
	tb.Cleanup(h.end) // before all else that ends
	return h
}

// The kinds of harm that may be impossible on a machine.
const (
	Network  = "network" // to lose packets, rather than what is in the proxies
	CPU      = "cpu"
	Space    = "disk"
	Tasks    = "limit of tasks"
	Memory   = "out of memory"
	Freezing = "a frozen machine"
	Hidden   = "hidden processes" // by [Cmd.Hide]
	Names    = "names with several addresses"
	Clock    = "clocks set apart" // if Options.Apart
)

// Lacks says which kinds of harm are impossible here, and why.
func (h *Host) Lacks() map[string]error { return h.lacks }

// groups are the cgroups that each of its processes is in.
func (h *Host) groups() (all []*group) {
	for _, g := range []*group{h.cpu, h.tasks, h.memory, h.freezer} {
		if g != nil && !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// lack records that something is impossible.
func (h *Host) lack(what string, err error) {
	if err != nil {
		h.lacks[what] = err
	}
}

// end ends the host's processes and its faults.
func (h *Host) end() {
	h.Heal()
	_ = h.Thaw()
	_ = h.Feed()
	_ = h.LiftTasks()
	h.mu.Lock()
	started, stopped := h.started, h.stopped
	h.mu.Unlock()
	for p := range stopped {
		_ = p.signal(unix.SIGCONT)
	}
	for _, p := range started {
		_ = p.signal(unix.SIGKILL)
	}
	if len(h.groups()) == 0 {
		return
	}
	// The guard kills its job; whatever is left after that is killed here.
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		left := h.groups()[0].processes()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			h.tb.Errorf("%s: processes %v do not end", h.name, left)
			return
		}
		for _, p := range left {
			_ = p.signal(unix.SIGKILL)
		}
	}
}

// dead reports whether a name was given by a process that no longer exists.
func dead(name string) bool {
	var pid int
	if _, err := fmt.Sscanf(name, prefix+"%d-", &pid); err != nil || pid <= 1 {
		return false
	}
	return errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

// sweep removes what dead processes have left.
func sweep() {
	sweepDisks()
	sweepGroups()
}
