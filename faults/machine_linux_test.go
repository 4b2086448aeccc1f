package faults

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/faults/host"
	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// built are the programs of this test process.
var built programs.Programs

// A machine is a host that contends: it starts one leaderrun after the other.
type machine struct {
	*host.Host
	c    *cell
	name string
	rand *rand.Rand // used only by live

	events string // the file on the host's own disk for leaderrun's events; "" if none

	room sync.Mutex // while it is held, no leaderrun is started

	mu      sync.Mutex
	process host.Process // the running leaderrun; zero if none
	task    task         // the task of that leaderrun
	harms   int          // present faults of the host
}

func newMachine(c *cell, h *host.Host, i int, seed uint64) *machine {
	m := &machine{Host: h, c: c, name: strconv.Itoa(i), rand: rand.New(rand.NewPCG(seed, stream(c.plan.name, i)))}
	if h.Lacks()[host.Space] == nil { // so that a full disk matters
		m.events = filepath.Join(h.TempDir(), "events")
		m.must(os.WriteFile(m.events, nil, 0o600))
	}
	return m
}

// peer is what runs there instead of leaderrun; nil: leaderrun does.
func (m *machine) peer() *peer {
	if m.c.plan.contender != nil && m == m.c.hosts[0] {
		return m.c.plan.contender
	}
	return m.c.plan.peer
}

// log is the file that leaderruns, their guards and helpers print to, and jobs is that of
// their jobs.
func (m *machine) log() string  { return m.c.file("log-" + m.host()) }
func (m *machine) jobs() string { return m.c.file("jobs-" + m.host()) }

// host is the name without that of one of a crowd.
func (m *machine) host() string {
	name, _, _ := strings.Cut(m.name, crowded)
	return name
}

// running returns the running leaderrun.
func (m *machine) running() (p host.Process, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process, m.process.PID != 0
}

// works returns the task of a leaderrun if it is the running one.
func (m *machine) works(p host.Process) (k task, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.task, p == m.process && p.PID != 0
}

// busy keeps the jobs of the host running while it suffers faults, so that it is a fault
// that ends them. It counts one fault more or less.
func (m *machine) busy(more int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.harms += more
	if m.harms == 0 {
		m.must(os.Remove(m.busyFile()))
		return
	}
	m.must(os.WriteFile(m.busyFile(), nil, 0o600))
}

func (m *machine) must(err error) {
	if err != nil {
		m.c.t.Error(err)
	}
}

func (m *machine) busyFile() string { return m.c.file("busy-" + m.name) }

// live starts leaderruns until the cell ends.
func (m *machine) live() {
	for !m.c.ended() {
		k := m.draw()
		if k.manner == hiding && m.Lacks()[host.Hidden] != nil {
			k.manner = "leaving"
		}
		status := m.run(k)
		if m.peer() == nil {
			m.c.count(status)
		}
		pause := time.Duration(m.rand.Int64N(int64(50 * time.Millisecond)))
		if status != 0 || m.c.plan.once != "" {
			pause *= 10 // a leaderrun that ends at once must not be restarted all the time
		}
		select {
		case <-m.c.stop:
		case <-time.After(pause):
		}
	}
}

// run runs a leaderrun to its end, and returns its status as a shell shows it.
func (m *machine) run(k task) (status int) {
	log, err := os.OpenFile(m.log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		m.c.t.Error(err)
		return -1
	}
	defer log.Close()
	if m.events != "" {
		m.must(os.Truncate(m.events, 0))
	}
	cmd := m.command(k)
	cmd.Stderr = log
	begin := clock.Boot{}.Now()
	if err := m.start(cmd, k); err != nil {
		if !m.c.ended() {
			m.c.t.Error(err)
		}
		return -1
	}
	pid := cmd.Process.Pid
	began := trace.Entry{Kind: trace.Began, Host: m.name, PID: pid, Call: begin}
	switch {
	case m.peer() != nil:
	case k.service != 0:
		began.What = oracle.Service
	case k.priority != "":
		began.What = oracle.Rank(k.priority)
	}
	m.c.note(began)
	if after := cmp.Or(k.service, k.stop); after != 0 { // somebody stops it
		p, _ := m.running()
		stop := time.AfterFunc(after, func() { _ = m.Signal(p, unix.SIGTERM) }) // it may have ended
		defer stop.Stop()
	}
	_ = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	m.mu.Lock() // its process id is not reused before it is reaped
	m.process = host.Process{}
	m.mu.Unlock()
	_ = cmd.Wait() // how it ended is in ProcessState
	status = programs.Status(cmd.ProcessState)
	m.c.note(trace.Entry{Kind: trace.Ran, Host: m.name, PID: pid, Call: begin, Status: status, Left: m.left()})
	return status
}

// cookie is that of all that is started there. What a contender leaves behind is not judged.
func (m *machine) cookie() string {
	if m.peer() != m.c.plan.peer {
		return m.c.cookie + "-contender"
	}
	return m.c.cookie
}

// left counts the processes of jobs on the host when no leaderrun runs there.
func (m *machine) left() (n int) {
	all, err := oracle.LeftoversOn(m.cookie(), m.name)
	m.must(err)
	for _, line := range all {
		if strings.HasPrefix(line, built.Path("subject")) {
			n++
		}
	}
	return n
}

// start starts a leaderrun, unless the cell has ended.
func (m *machine) start(cmd *host.Cmd, k task) error {
	m.room.Lock()
	defer m.room.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.must(m.LiftTasks())
	if m.c.ended() {
		return exec.ErrNotFound
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	m.process, m.task = host.At(cmd.Process.Pid), k
	return nil
}

// command is the program that contends for the lock.
func (m *machine) command(k task) *host.Cmd {
	work := []string{built.Path("subject"), "work", k.manner, k.length.String()}
	var cmd *host.Cmd
	if peer := m.peer(); peer != nil {
		args := append(peer.args(m), work...)
		cmd = m.Command(args[0], args[1:]...)
	} else {
		grace := "0.5"
		if k.manner == "draining" {
			grace = "30"
		}
		args := []string{"-v", "-l", lockName, "--ttl", m.c.plan.ttl().String(), "-k", grace, "--connect-timeout", "2", "--containment", k.containment}
		if m.events != "" {
			args = append(args, "--events", m.events)
		}
		if k.manner == "stopping" || k.manner == "suspended" {
			args = append(args, "--max-runtime", "4")
		}
		if k.manner == "draining" && k.stop == 0 {
			args = append(args, "--max-runtime", "0.5")
		}
		if m.c.plan.strict {
			args = append(args, "--takeover", "strict")
		}
		if n := m.c.plan.slots; n > 0 {
			args = append(args, "--slots", strconv.Itoa(n))
		}
		if m.c.plan.once != "" {
			args = append(args, "--once-per", m.c.plan.once)
		}
		options := k.options
		if k.service != 0 {
			options = m.service()
		} else if k.priority != "" {
			args = append(args, "--priority", k.priority)
		}
		args = append(append(args, options...), "--")
		args = append(args, "sh", "-c", `exec "$@" 2>>"$0"`, m.jobs())
		cmd = m.Command(built.Path("leaderrun"), append(args, work...)...)
		if k.manner == hiding {
			cmd.Hide()
		}
	}
	cmd.Env = append(m.environment(),
		trace.CookieVariable+"="+m.cookie(), trace.HostVariable+"="+m.name, trace.AheadVariable+"="+m.Ahead().String(),
		trace.FileVariable+"="+m.c.file("trace"), trace.RegisterVariable+"="+m.c.file("register"),
		trace.BusyVariable+"="+m.busyFile(),
	)
	if dir := m.TasksFiles(); dir != "" {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d %s", trace.TasksVariable, k.spare, dir))
	}
	if m.peer() != nil {
		cmd.Env = append(cmd.Env, trace.PeerVariable+"=yes")
	}
	return cmd
}

// environment is that of any leaderrun.
func (m *machine) environment() []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.c.dir, "LEADERRUN_CONFIG=" + os.DevNull}, m.c.store.env(m.addresses())...)
}

// service returns the options of a service: it has hooks and health checks, and waits for the
// lock again when its job has ended or the lock is lost.
func (m *machine) service() []string {
	hook := `sh -c 'exec "$@" 2>>"$0"' ` + m.jobs() + " " + built.Path("subject") + " hook"
	return []string{"--rejoin", "--on-elected", hook, "--on-resign", hook, "--health", "true", "--health-interval", "0.5"}
}

// aliased reports whether the host has two addresses for the first server: all but one do, if they can.
func (m *machine) aliased() bool {
	return (m.c.store.several || m.c.store.named && m.ServerName() != "") && m.host() != "0" && m.Alias() != ""
}

// addresses returns where the host reaches the store.
func (m *machine) addresses() []string {
	addrs := m.Addrs()
	if m.c.store.own {
		i, err := strconv.Atoi(m.host())
		m.must(err)
		return addrs[i : i+1]
	}
	if m.aliased() && m.c.store.named {
		addrs[0] = m.ServerName()
	} else if m.aliased() {
		addrs = append([]string{m.Alias()}, addrs...)
	}
	if m.c.store.members {
		for _, other := range m.c.hosts {
			addrs = append(addrs, other.Address())
		}
	}
	return addrs
}
