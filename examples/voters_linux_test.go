package examples

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// voterUnit is the unit of the package.
const voterUnit = "../locks/backend/quorum/leaderrun-quorum/leaderrun-voter.service"

// TestVoterUnitVerifies checks that systemd finds nothing wrong with the unit, and that it has few
// rights.
func TestVoterUnitVerifies(t *testing.T) {
	t.Parallel()
	need(t, "systemd-analyze", "systemd")
	unit := filepath.Join(t.TempDir(), "leaderrun-voter.service")
	write(t, unit, strings.Replace(read(t, voterUnit), "/usr/libexec/leaderrun/", bin(t)+"/", 1), 0o644)
	for _, args := range [][]string{
		{"verify", "--man=no", "--recursive-errors=no", unit},
		{"security", "--offline=yes", "--threshold=20", unit},
	} {
		c := exec.Command("systemd-analyze", args...)
		c.Env = append(os.Environ(), "SYSTEMD_COLORS=0")
		p := start(t, c)
		p.exits(0)
		if p.stderr.String() != "" {
			t.Errorf("systemd-analyze %s: %s", args[0], &p.stderr)
		}
	}
}

// A voters is a fleet of machines that the playbook has made vote.
type voters struct {
	t        *testing.T
	machines []*machine
	names    []string // an address of each, on loopback
	dir      string   // with the playbook and its inventory
	url      string
}

func newVoters(t *testing.T, n int) *voters {
	t.Helper()
	if !namespaces() {
		t.Skip("booting systemd needs root and namespaces")
	}
	need(t, "systemctl", "systemd")
	need(t, "ansible-playbook", "ansible-core")
	v := &voters{t: t, dir: public(t)}
	net := fmt.Sprintf("127.%d.%d", rand.IntN(250)+1, rand.IntN(250)+1) // of this test
	units := t.TempDir()
	write(t, filepath.Join(units, "leaderrun-voter.service"), strings.Replace(read(t, voterUnit), "/usr/libexec/leaderrun/", "/usr/local/bin/", 1), 0o644)
	for i := range n {
		m := boot(t, units, t.TempDir(), bin(t))
		v.machines, v.names = append(v.machines, m), append(v.names, fmt.Sprintf("%s.%d", net, i+1))
		write(t, filepath.Join(v.dir, v.names[i]), m.pid, 0o644)
	}
	v.url = "quorum://" + strings.Join(v.names, ",") + "?longest=6s&key-file=/etc/leaderrun/quorum.key"
	write(t, filepath.Join(v.dir, "inventory"), "[voters]\n"+strings.Join(v.names, "\n")+"\n", 0o644)
	write(t, filepath.Join(v.dir, "voters.yaml"), read(t, "ansible/voters.yaml"), 0o644)
	write(t, filepath.Join(v.dir, "ansible.cfg"), "[defaults]\ninventory = inventory\nlocal_tmp = "+v.dir+"/tmp\nremote_tmp = /run/ansible\n[connection]\npipelining = true\n", 0o644)
	program(t, v.dir, "ssh", `
while [ $# -gt 2 ]; do shift; done # options: what is left is the host, and the command
exec nsenter --target "$(cat `+v.dir+`/$1)" --mount --pid -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run sh -c "$2"`)
	return v
}

// play runs the playbook, and returns what it has printed.
func (v *voters) play(status int, keys, url string) string {
	v.t.Helper()
	vars := fmt.Sprintf(`{"quorum_keys": %q, "quorum_url": %q, "ansible_become": false, "ansible_ssh_executable": "%s/ssh", "ansible_ssh_transfer_method": "piped", "ansible_python_interpreter": "/usr/bin/python3"}`, keys, url, v.dir)
	c := exec.Command("ansible-playbook", "--skip-tags", "packages", "--extra-vars", vars, "voters.yaml")
	c.Dir = v.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + v.dir, "ANSIBLE_CONFIG=" + v.dir + "/ansible.cfg", "LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1"}
	p := start(v.t, c)
	p.exits(status)
	return p.stdout.String()
}

// recaps checks the last lines of what the playbook has printed.
func (v *voters) recaps(out, pattern string) {
	v.t.Helper()
	if got := len(regexp.MustCompile(`(?m)^127\S+ +: `+pattern).FindAllString(out, -1)); got != len(v.machines) {
		v.t.Errorf("%d hosts have %q, want all %d:\n%s", got, pattern, len(v.machines), out)
	}
}

// TestVoters makes three machines vote, with the playbook and the unit. A job runs on while voters
// are restarted, killed and stopped, one at a time, and while the key is replaced.
func TestVoters(t *testing.T) {
	t.Parallel()
	v := newVoters(t, 3)
	const first, second = "Zmlyc3QgZmlyc3QgZmlyc3QgZmlyc3QgZmlyc3QhISE=\n", "c2Vjb25kIHNlY29uZCBzZWNvbmQgc2Vjb25kIHNlYyE=\n"
	v.recaps(v.play(0, first, v.url), `ok=\d+ +changed=[1-9]\d* +unreachable=0 +failed=0`)
	for _, m := range v.machines {
		if got := m.property("leaderrun-voter.service", "ActiveState"); got != "active" {
			t.Errorf("the voter is %s", got)
		}
	}
	run := v.machines[0].command("/usr/local/bin/leaderrun", "--lock", "x", "--id", "host/1/run", "--ttl", "6", "-vv", "--", "sleep", "1000")
	job := start(t, run)
	votes := func(want int) {
		t.Helper()
		defer func() {
			if t.Failed() {
				out, err := v.machines[1].command("/usr/local/bin/leaderrun", "status", "--lock", "x").CombinedOutput()
				t.Logf("%s\n%v\nthe job: %s", out, err, &job.stderr)
			}
		}()
		eventually(t, fmt.Sprintf("%d vote for the job", want), func() bool {
			out, _ := v.machines[1].command("/usr/local/bin/leaderrun", "status", "--lock", "x").Output()
			return strings.Count(string(out), "votes for host/1/run") == want
		})
	}
	votes(3)
	for _, m := range v.machines {
		m.systemctl(0, "restart", "leaderrun-voter.service")
		m.systemctl(0, "kill", "--signal=KILL", "leaderrun-voter.service")
		m.becomes("leaderrun-voter.service", "SubState", "running")
		m.systemctl(0, "stop", "leaderrun-voter.service")
		m.systemctl(0, "start", "leaderrun-voter.service")
	}
	// Each has voted at once, or the job would have lost its lease. None had forgotten anything.
	votes(3)

	// Without promises, a voter abstains.
	m := v.machines[2]
	m.systemctl(0, "stop", "leaderrun-voter.service")
	start(t, m.command("sh", "-c", "rm -r /run/private/leaderrun-quorum/*")).exits(0) // as systemctl clean, which needs D-Bus
	m.systemctl(0, "start", "leaderrun-voter.service")
	if out, _ := m.command("/usr/local/bin/leaderrun", "status", "--lock", "x").Output(); !strings.Contains(string(out), "because there are no promises of an earlier one") {
		t.Errorf("a voter without promises votes:\n%s", out)
	}
	votes(3)

	// The playbook does the first step, and nothing else but to enable the unit, which these
	// machines forget.
	v.recaps(v.play(0, first+second, v.url), `ok=\d+ +changed=3 +unreachable=0 +failed=0`)
	votes(3)
	for _, keys := range []string{second + first, second} {
		for _, m := range v.machines {
			start(t, m.command("sh", "-c", "printf %s '"+keys+"' >/etc/leaderrun/quorum.key")).exits(0)
			m.systemctl(0, "restart", "leaderrun-voter.service")
		}
		votes(3)
	}
	if out := v.play(2, second, strings.Replace(v.url, v.names[2], "127.0.0.1", 1)); !strings.Contains(out, "docs/quorum.md says how to change that") {
		t.Errorf("the playbook changes the list of hosts:\n%s", out)
	}
	votes(3)
	select {
	case <-job.ended:
		t.Errorf("the job has ended: %s", &job.stderr)
	default:
	}
	out, err := m.command("/usr/local/bin/leaderrun", "doctor", "--ttl", "6").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all 3 voters vote") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}
