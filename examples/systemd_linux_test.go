package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// units puts the examples' units into a directory, with this server's address.
func units(t *testing.T, server *lockServer) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"web.service", "nightly.service", "nightly.timer"} {
		text := read(t, "systemd/"+name)
		if server != nil {
			text = servers.ReplaceAllString(text, "${2}"+server.Addr())
		}
		write(t, filepath.Join(dir, name), text, 0o644)
	}
	return dir
}

// TestUnitsVerify checks that systemd itself finds nothing wrong with the units, and that
// they have few rights.
func TestUnitsVerify(t *testing.T) {
	t.Parallel()
	need(t, "systemd-analyze", "systemd")
	if os.Geteuid() != 0 && !exists("/run/systemd") {
		realserver.Missing(t, "systemd-analyze makes /run/systemd, which only root can do")
	}
	dir := units(t, nil)
	for _, name := range []string{"web.service", "nightly.service"} {
		text := read(t, filepath.Join(dir, name)) // systemd-analyze checks that the program exists
		write(t, filepath.Join(dir, name), strings.Replace(text, "ExecStart=leaderrun", "ExecStart="+bin(t)+"/leaderrun", 1), 0o644)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", "--recursive-errors=no", dir + "/web.service", dir + "/nightly.service", dir + "/nightly.timer"},
		// RestrictNamespaces= would make it 1.9 (of 10); web.service says why it is
		// missing.
		{"security", "--offline=yes", "--threshold=30", dir + "/web.service", dir + "/nightly.service"},
	} {
		c := exec.Command("systemd-analyze", args...)
		c.Env = append(os.Environ(), "SYSTEMD_COLORS=0")
		p := start(t, c)
		p.exits(0)
		if p.stderr.String() != "" {
			t.Errorf("systemd-analyze %s: %s", args[0], &p.stderr)
		}
		for _, line := range regexp.MustCompile(`(?m).*Overall exposure.*`).FindAllString(p.stdout.String(), -1) {
			t.Log(line)
		}
	}
}

// web is a service that records what happens to it. It needs a while to end, and then
// dies of the signal.
const web = `
[ "$1" = --data ] || exit 64
log=$2/log terms=0 after=0
trap 'echo term >>"$log"; terms=1' TERM
cat "$ETCDCTL_KEY" >/dev/null 2>&1 && echo "has the key by its variable" >>"$log"
cat /etc/leaderrun/tls/client.key >/dev/null 2>&1 && echo "reads the key" >>"$log"
touch /etc/here 2>/dev/null && echo "writes to /etc" >>"$log"
echo "begins as $$ in $(tail -n 1 /proc/$$/cgroup)" >>"$log"
while [ $after -lt 5 ]; do
	sleep 0.1 & wait $! || : # a signal is counted at once, and not together with the next
	after=$((after + terms))
done
trap - TERM
kill -TERM $$`

// short makes a test short, and its failures clear.
const short = `[Service]
Environment=LEADERRUN_TTL=8s
StandardError=file:/run/%N.err
`

// newMachines boots a fleet with the examples' units.
func newMachines(t *testing.T, n int) (all []*machine) {
	t.Helper()
	if !namespaces() {
		t.Skip("booting systemd needs root and namespaces")
	}
	need(t, "systemctl", "systemd")
	server := startEtcd(t)
	etc, dir := t.TempDir(), units(t, server)
	write(t, filepath.Join(etc, "tls/ca.crt"), read(t, server.ca), 0o644)
	write(t, filepath.Join(etc, "tls/client.crt"), read(t, server.cert), 0o600)
	write(t, filepath.Join(etc, "tls/client.key"), read(t, server.key), 0o600)
	for _, name := range []string{"web.service.d/short.conf", "nightly.service.d/short.conf"} {
		write(t, filepath.Join(dir, name), short, 0o644)
	}
	enable(t, dir, "multi-user.target", "web.service")
	local := bin(t) // of all machines: nobody writes to a program that one of them runs
	program(t, local, "web", web)
	program(t, local, "backup", `echo "$* $CRON_TZ" >>"$2/log"`)
	for range n {
		all = append(all, boot(t, dir, etc, local))
	}
	return all
}

// enable does what "systemctl enable" does.
func enable(t *testing.T, dir, target, unit string) {
	t.Helper()
	if !strings.Contains(read(t, filepath.Join(dir, unit)), "\nWantedBy="+target+"\n") {
		t.Errorf("%s is not wanted by %s", unit, target)
	}
	wants := filepath.Join(dir, target+".wants")
	err := os.Mkdir(wants, 0o755)
	if err == nil {
		err = os.Symlink("../"+unit, filepath.Join(wants, unit))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnits runs the service on two machines with a real systemd, from their boot on.
func TestUnits(t *testing.T) {
	t.Parallel()
	machines := newMachines(t, 2)
	leader, standby := machines[0], machines[1]
	eventually(t, "one of the two is active", func() bool {
		if standby.property("web.service", "ActiveState") == "active" {
			leader, standby = standby, leader
		}
		return leader.property("web.service", "ActiveState") == "active"
	})
	standby.becomes("multi-user.target", "ActiveState", "active") // active on the standby as well
	eventually(t, "the standby reports what it waits for", func() bool {
		return strings.HasPrefix(standby.property("web.service", "StatusText"), `waiting for lock "web", held by `)
	})
	if got := standby.property("web.service", "ActiveState"); got != "activating" {
		t.Errorf("the standby is %s", got)
	}
	if got := leader.property("web.service", "StatusText"); !strings.HasPrefix(got, "leading as ") {
		t.Errorf("the leader reports %q", got)
	}
	checkJob(t, leader)

	// systemctl stop succeeds, and signals the job once.
	leader.systemctl(0, "stop", "web.service")
	if got := leader.property("web.service", "Result"); got != "success" {
		t.Errorf("systemctl stop ended with %s", got)
	}
	if got := strings.Count(leader.file(webLog), "term\n"); got != 1 {
		t.Errorf("the job was sent %d signals, want one", got)
	}
	standby.becomes("web.service", "ActiveState", "active")
	killLeaderrun(t, standby, leader)
	runNightly(t, machines)
}

// webLog is the log of web.
const webLog = "/var/lib/private/web/log"

// checkJob waits for the job, checks what it has found, and returns its process id. The
// job must have its own cgroup and no rights that it does not need.
func checkJob(t *testing.T, m *machine) string {
	t.Helper()
	begins := regexp.MustCompile(`(?m)^begins as (\d+) in (.+)$`)
	var found []string
	eventually(t, "the job has begun", func() bool {
		found = begins.FindStringSubmatch(m.file(webLog))
		return found != nil
	})
	if !strings.HasPrefix(found[2], "0::/system.slice/web.service/") {
		t.Errorf("the job is in %s, which is not its own cgroup", found[2])
	}
	if text := m.file(webLog); !strings.HasPrefix(text, "begins") {
		t.Errorf("the job has too many rights:\n%s", text)
	}
	return found[1]
}

// killLeaderrun kills leaderrun itself. systemd must leave nothing of the job and start
// leaderrun again, and another machine must take over.
func killLeaderrun(t *testing.T, m, other *machine) {
	t.Helper()
	job, pid := checkJob(t, m), m.property("web.service", "MainPID")
	other.systemctl(0, "start", "--no-block", "web.service")
	m.kill(pid)
	eventually(t, "leaderrun is started again", func() bool {
		now := m.property("web.service", "MainPID")
		return now != "0" && now != pid
	})
	if m.command("test", "-e", "/proc/"+job).Run() == nil {
		t.Error("the job still runs")
	}
	eventually(t, "a machine leads again", func() bool {
		return m.property("web.service", "ActiveState") == "active" || other.property("web.service", "ActiveState") == "active"
	})
}

// runNightly runs the job of the timer on all machines at once.
func runNightly(t *testing.T, machines []*machine) {
	t.Helper()
	var runs []*process
	for _, m := range machines {
		runs = append(runs, start(t, m.command("systemctl", "start", "nightly.service")))
	}
	var log string
	for i, m := range machines {
		runs[i].exits(0)
		log += m.file("/var/lib/private/nightly/log")
		m.systemctl(0, "start", "nightly.timer")
		if next := m.property("nightly.timer", "NextElapseUSecRealtime"); next == "" {
			t.Error("the timer does not elapse")
		}
	}
	if want := "--to /var/lib/nightly UTC\n"; log != want {
		t.Errorf("all ran %q, want %q", log, want)
	}
}
