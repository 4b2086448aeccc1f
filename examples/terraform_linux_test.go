package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// standIn replaces terraform, which is in no package for this machine. It records what it
// does, exits like "plan" and "apply", and on INT saves its state first.
const standIn = `echo "begins $*" >>log
trap 'echo saves its state >>log; echo ends >>log; exit 1' INT
case $1 in
plan) code=2 ;;
apply) code=0 ;;
fail) code=1 ;;
wait) echo >waits; until [ -e end ]; do sleep 0.1; done; code=0 ;;
esac
echo ends >>log
exit $code`

// A terraformHost runs terraform-locked.
type terraformHost struct {
	dir string
	env []string
}

func newTerraformHost(t *testing.T) terraformHost {
	t.Helper()
	h := terraformHost{dir: t.TempDir()}
	program(t, h.dir, "terraform", standIn)
	h.env = append(startEtcd(t).environment(), "PATH="+h.dir+":"+os.Getenv("PATH"))
	return h
}

func (h terraformHost) start(t *testing.T, args ...string) *process {
	t.Helper()
	c := exec.Command(absolute(t, "terraform/terraform-locked"), args...)
	c.Dir, c.Env = h.dir, h.env
	return start(t, c)
}

func (h terraformHost) log(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(read(t, filepath.Join(h.dir, "log")), "\n", "; ")
}

// TestTerraformStatus checks that exit statuses are terraform's own, and that it is run
// once whatever the settings are.
func TestTerraformStatus(t *testing.T) {
	t.Parallel()
	h := newTerraformHost(t)
	h.env = append(h.env, "LEADERRUN_REJOIN=true", "LEADERRUN_RESTART=always")
	h.start(t, "network", "apply", "-input=false").exits(0)
	h.start(t, "network", "plan", "-detailed-exitcode").exits(2)
	h.start(t, "network", "fail").exits(1)
	want := "begins apply -input=false; ends; begins plan -detailed-exitcode; ends; begins fail; ends; "
	if got := h.log(t); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	h.start(t, "network").exits(64)
	h.env = []string{"PATH=" + h.dir + ":" + os.Getenv("PATH")} // no store is configured
	h.start(t, "network", "apply").exits(64)
}

// TestTerraformLock checks that two runs with the same lock do not overlap, that runs
// with different locks may, and that nobody can ask the holder to resign.
func TestTerraformLock(t *testing.T) {
	t.Parallel()
	h := newTerraformHost(t)
	first := h.start(t, "network", "wait")
	eventually(t, "the first runs", func() bool { return exists(filepath.Join(h.dir, "waits")) })
	second := h.start(t, "network", "apply")
	h.start(t, "storage", "plan").exits(2)
	resign := exec.Command("leaderrun", "resign", "--lock", "terraform/network", "--wait", "0.1")
	resign.Env = h.env
	if p := start(t, resign); p.status() == 0 {
		t.Fatal("the lock was given up")
	}
	write(t, filepath.Join(h.dir, "end"), "", 0o600)
	first.exits(0)
	second.exits(0)
	want := "begins wait; begins plan; ends; ends; begins apply; ends; "
	if got := h.log(t); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTerraformStops checks that terraform gets INT once, and has time to save its state,
// if it is cancelled or the lock cannot be kept. --max-runtime stops it in the same way
// as a loss.
func TestTerraformStops(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit  string
		cancel bool
		status int
	}{
		"cancelled": {"1h", true, 1},
		"stopped":   {"5s", false, 124},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTerraformHost(t)
			h.env = append(h.env, "LEADERRUN_MAX_RUNTIME="+c.limit)
			p := h.start(t, "network", "wait")
			eventually(t, "it runs", func() bool { return exists(filepath.Join(h.dir, "waits")) })
			if c.cancel {
				p.signal(syscall.SIGINT)
			}
			p.exits(c.status)
			if got, want := h.log(t), "begins wait; saves its state; ends; "; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
