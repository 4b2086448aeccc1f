package fleet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// replicas is the number of hosts that run a service.
const replicas = 3

// respawn is how long a service manager waits until it starts leaderrun again after its
// end.
const respawn = 300 * time.Millisecond

// services are the hosts of a fleet that run a service.
type services struct {
	t      *testing.T
	store  *store
	rand   *rand.Rand
	dir    string
	trace  string // file of entries
	cookie string
	canary *canary

	strikes  []strike
	murdered map[int]bool             // leaderruns that were killed
	sick     map[uint64]clock.Instant // terms whose service hangs

	stop chan struct{}
	wg   sync.WaitGroup

	mu      sync.Mutex
	running [replicas]int // process ids of the leaderruns; 0 between two
	exits   map[int]int   // how many ended with each status
}

// A strike is a fault that was done.
type strike struct {
	fault
	begin, end clock.Instant
}

// runServices runs a service through n faults, and returns the result.
func runServices(t *testing.T, store *store, n int) *services {
	t.Helper()
	build(t)
	seed := seed(t)
	dir := t.TempDir()
	s := &services{
		t: t, store: store, rand: rand.New(rand.NewPCG(seed, 2)), dir: dir, trace: filepath.Join(dir, "trace"),
		cookie:   fmt.Sprint("service-", store.name, "-", os.Getpid(), "-", seed),
		murdered: map[int]bool{}, sick: map[uint64]clock.Instant{}, stop: make(chan struct{}), exits: map[int]int{},
	}
	s.canary = newCanary(t, dir)
	store.behindProxies(t, replicas)
	end := sync.OnceFunc(s.end)
	t.Cleanup(end)
	for host := range replicas {
		s.wg.Go(func() { s.manage(host) })
	}
	s.settle(clock.Boot{}.Now(), steady)
	for _, f := range planFaults(s.rand, store, n) {
		begin := clock.Boot{}.Now()
		f.strike(s)
		s.strikes = append(s.strikes, strike{f, begin, clock.Boot{}.Now()})
		s.settle(clock.Boot{}.Now(), steady)
		s.pass(upTo(s.rand, time.Second))
	}
	s.settle(s.strikes[len(s.strikes)-1].end, ttl) // a lease lost by the last fault has ended by then
	end()
	gone(t, s.cookie)
	return s
}

// manage is a host's service manager: it starts leaderrun, and starts it again when it
// has ended.
func (s *services) manage(host int) {
	for {
		s.run(host)
		select {
		case <-s.stop:
			return
		case <-time.After(respawn):
		}
	}
}

func (s *services) run(host int) {
	hook := program("subject") + " hook"
	cmd := exec.Command(program("leaderrun"), "-v", "-l", "service", "--rejoin", "--ttl", "6", "-k", "1",
		"--restart", "on-failure", "--restart-delay", "0.2", "--restart-max-delay", "1",
		"--health", program("subject")+" health "+s.dir, "--health-interval", "1", "--health-retries", "2",
		"--on-elected", hook, "--on-resign", hook, "--on-lost", hook,
		"--", program("subject"), "service")
	cmd.Env = append(environment(s.dir, s.cookie), s.store.of(host)...)
	cmd.Env = append(cmd.Env, trace.FileVariable+"="+s.trace, trace.HostVariable+"="+strconv.Itoa(host))
	log, err := os.OpenFile(filepath.Join(s.dir, fmt.Sprint("log-", host)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer log.Close()
	cmd.Stderr = log

	s.mu.Lock()
	select {
	case <-s.stop:
		s.mu.Unlock()
		return
	default:
	}
	if err := cmd.Start(); err != nil {
		s.mu.Unlock()
		s.t.Error(err)
		return
	}
	s.running[host] = cmd.Process.Pid
	s.mu.Unlock()
	err = unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	s.mu.Lock() // its process id is not reused before it is reaped
	s.running[host] = 0
	s.mu.Unlock()
	_ = cmd.Wait() // its state is in ProcessState
	s.mu.Lock()
	s.exits[programs.Status(cmd.ProcessState)]++
	s.mu.Unlock()
	if err != nil {
		s.t.Error(err)
	}
}

// end ends all hosts, as a service manager does.
func (s *services) end() {
	s.mu.Lock()
	close(s.stop)
	for _, pid := range s.running {
		if pid != 0 {
			s.hit(pid, unix.SIGTERM)
		}
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// entries returns what has been recorded so far.
func (s *services) entries() []trace.Entry {
	s.t.Helper()
	all, err := trace.ReadAll(s.trace)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return all
}

// latest returns the service that was started last, or false if there was none.
func (s *services) latest() (oracle.Stay, bool) {
	all := s.entries()
	for _, e := range slices.Backward(all) {
		if e.Kind == trace.Start && e.What == "service" {
			span, err := trace.ReadLife(e.Life)
			return oracle.Stay{Entry: e, Span: span}, err == nil
		}
	}
	return oracle.Stay{}, false
}

// patience is how long there may be no leader before the test fails.
const patience = 2 * time.Minute

// steady is how long a service must have run to count as stable.
const steady = time.Second

// settle waits until there is a leader that has stayed for some time after a moment.
func (s *services) settle(after clock.Instant, some time.Duration) {
	s.t.Helper()
	if !within(patience, func() bool {
		l, ok := s.latest()
		_, sick := s.sick[l.Token]
		return ok && !sick && l.Last.Sub(max(l.First, after)) >= some && clock.Boot{}.Now().Sub(l.Last) < steady/2
	}) {
		s.t.Fatalf("there is no leader %v after the last fault\n%s", patience, s.logs())
	}
}

// leader returns the running service.
func (s *services) leader() trace.Entry {
	s.t.Helper()
	l, ok := s.latest()
	if !ok {
		s.t.Fatal("there is no leader")
	}
	return l.Entry
}

// host returns the number of the host that wrote an entry.
func (s *services) host(e trace.Entry) int {
	s.t.Helper()
	n, err := strconv.Atoi(e.Host)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// waiting returns the leaderrun of a host that does not lead.
func (s *services) waiting() int {
	host := (s.host(s.leader()) + 1 + s.rand.IntN(replicas-1)) % replicas
	pid := 0
	within(patience, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		pid = s.running[host]
		return pid != 0
	})
	return pid
}

// hit sends a signal to one of our processes, and reports whether it still exists. A
// guard has no environment that identifies it, but its parent has.
func (s *services) hit(pid int, sig syscall.Signal) bool {
	return (s.owns(pid) || s.owns(parentOf(pid))) && unix.Kill(pid, sig) == nil
}

func (s *services) owns(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && oracle.Carries(env, s.cookie)
}

// parentOf returns the parent of a process, or 0 if there is none.
func parentOf(pid int) int {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// strike sends a signal to the leader, or its leaderrun or guard, which must exist.
func (s *services) strike(pid int, sig syscall.Signal) {
	if !s.hit(pid, sig) {
		s.t.Errorf("there is no process %d to send %v to", pid, sig)
	}
}

// sicken makes the service of this term fail its health checks.
func (s *services) sicken() {
	token := s.leader().Token
	s.sick[token] = clock.Boot{}.Now()
	if err := os.WriteFile(filepath.Join(s.dir, fmt.Sprint("sick.", token)), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *services) logs() string {
	var all string
	for host := range replicas {
		text, _ := os.ReadFile(filepath.Join(s.dir, fmt.Sprint("log-", host)))
		all += fmt.Sprintf("[host %d]\n%s", host, text)
	}
	return all
}
