package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAnsible runs the playbook on three hosts, all of which are this machine.
func TestAnsible(t *testing.T) {
	t.Parallel()
	need(t, "ansible-playbook", "ansible-core")
	server, bin := startEtcd(t), t.TempDir()
	log := filepath.Join(bin, "log")
	program(t, bin, "app-migrate", `
if [ -e "`+bin+`/schema-$1" ]; then echo "nothing to do"; exit; fi
echo "migrates to $1" >>`+log+`
sleep 0.5 # as long as another one could begin
touch "`+bin+`/schema-$1"
echo "migrated to $1"`)
	program(t, bin, "app-restart", "echo restarts in slot $LEADERRUN_SLOT >>"+log)
	program(t, bin, "app-announce", "echo announces $1 >>"+log+"; echo announced")

	play := func(version string) string {
		c := exec.Command("ansible-playbook", "--inventory", "app1,app2,app3,", "--connection", "local",
			"--extra-vars", "version="+version+" ansible_python_interpreter={{ansible_playbook_python}}", "deploy.yaml")
		c.Dir = t.TempDir()
		text := strings.NewReplacer("hosts: app\n", "hosts: all\n", "/etc/leaderrun/", c.Dir+"/").Replace(read(t, "ansible/deploy.yaml"))
		write(t, filepath.Join(c.Dir, "deploy.yaml"), text, 0o600)
		write(t, filepath.Join(c.Dir, "config.yaml"), server.here(read(t, "cron/config.yaml")), 0o600)
		write(t, filepath.Join(c.Dir, "ansible.cfg"), "[defaults]\nremote_tmp = "+c.Dir+"/tmp\n[connection]\npipelining = true\n", 0o600) // not the host's, and not in its HOME
		c.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + c.Dir, "ANSIBLE_CONFIG=" + c.Dir + "/ansible.cfg", "LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1"}
		p := start(t, c)
		p.exits(0)
		return p.stdout.String()
	}
	count := func(text, pattern string, want int) {
		t.Helper()
		if got := len(regexp.MustCompile("(?m)"+pattern).FindAllString(text, -1)); got != want {
			t.Errorf("%d times %q, want %d, in\n%s", got, pattern, want, text)
		}
	}
	out := play("1.2.3")
	count(out, `^app\d +: ok=3 +changed=\d +unreachable=0 +failed=0`, 3)
	count(out, `^changed: `, 1+3+1)
	count(read(t, log), `^migrates to 1\.2\.3$`, 1)
	count(read(t, log), `^restarts in slot [12]$`, 3)
	count(read(t, log), `^announces 1\.2\.3$`, 1)
}
