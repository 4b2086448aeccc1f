package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAnsibleCron brings the cron jobs to a host, which is a directory here, and runs each line
// twice: the job runs once.
func TestAnsibleCron(t *testing.T) {
	t.Parallel()
	need(t, "ansible-playbook", "ansible-core")
	dir := t.TempDir()
	for _, d := range []string{"etc/cron.d", "bin"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.NewReplacer("become: true", "become: false", "dest: /etc/", "dest: "+dir+"/etc/", "path: /etc/", "path: "+dir+"/etc/",
		"PATH=/usr/local/bin:", "PATH="+bin(t)+":", "command: /usr/local/", "command: "+dir+"/").Replace(read(t, "ansible/cron.yaml"))
	write(t, filepath.Join(dir, "cron.yaml"), text, 0o600)
	write(t, filepath.Join(dir, "inventory"), "[cron]\nhost1\n", 0o600)
	write(t, filepath.Join(dir, "ansible.cfg"), "[defaults]\ninventory = inventory\nremote_tmp = "+dir+"/tmp\n[connection]\npipelining = true\n", 0o600)
	c := exec.Command("ansible-playbook", "--connection", "local", "--skip-tags", "packages",
		"--extra-vars", "leaderrun_password=secret ansible_python_interpreter={{ansible_playbook_python}}", "cron.yaml")
	c.Dir = dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "ANSIBLE_CONFIG=" + dir + "/ansible.cfg", "LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1"}
	start(t, c).exits(0)

	pgpass := filepath.Join(dir, "etc/leaderrun/pgpass")
	if info, err := os.Stat(pgpass); err != nil {
		t.Error(err)
	} else if text := read(t, pgpass); info.Mode().Perm() != 0o600 || !strings.HasSuffix(text, ":secret\n") {
		t.Errorf("the password: %v, %q", info.Mode(), text)
	}
	show := exec.Command(filepath.Join(bin(t), "leaderrun"), "config", "show", "--config", filepath.Join(dir, "etc/leaderrun/config.yaml"))
	shown := start(t, show)
	if shown.exits(0); !strings.Contains(shown.stdout.String(), "postgres://") {
		t.Errorf("config show: %s", &shown.stdout)
	}

	settings, jobs := parseCrontab(t, read(t, filepath.Join(dir, "etc/cron.d/leaderrun")))
	if len(jobs) != 3 {
		t.Fatalf("%d jobs: %q", len(jobs), jobs)
	}
	for _, job := range jobs {
		command, ok := strings.CutPrefix(job.command, "root  ")
		if !ok {
			t.Fatalf("%q has no user", job.command)
		}
		_, name, _ := strings.Cut(command, "-- "+dir+"/bin/")
		name, _, _ = strings.Cut(name, " ")
		program(t, filepath.Join(dir, "bin"), name, "echo ran")
		for _, want := range []string{"ran\n", ""} {
			run := exec.Command("sh", "-c", command)
			run.Env = slices.Concat(settings, []string{"HOME=" + dir, "LEADERRUN_BACKEND=file://" + dir + "/locks"})
			p := start(t, run)
			if p.exits(0); p.stdout.String() != want {
				t.Errorf("%s: it has printed %q, want %q", command, &p.stdout, want)
			}
		}
	}
}
