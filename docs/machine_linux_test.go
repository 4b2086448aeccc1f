package docs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// installed is the result of `make install`, for the whole test process.
var installed struct {
	once sync.Once
	dir  string
	err  error
}

// install installs leaderrun once, and returns the directory that becomes /. It reads the
// whole source itself, because go test, which caches results, does not see which files
// make reads.
func install(t *testing.T) string {
	t.Helper()
	sources(t)
	installed.once.Do(func() {
		if installed.dir, installed.err = os.MkdirTemp("", "docs"); installed.err != nil {
			return
		}
		c := exec.Command("make", "-C", "..", "install", "BIN="+filepath.Join(installed.dir, "bin"), "DESTDIR="+installed.dir, "PREFIX=/usr/local", "LIBEXEC=/usr/local/libexec/leaderrun")
		c.Env = append(os.Environ(), "MAKEFLAGS=", "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false")
		out, err := c.CombinedOutput()
		if err != nil {
			installed.err = fmt.Errorf("make install: %w\n%s", err, out)
		}
	})
	if installed.err != nil {
		t.Fatal(installed.err)
	}
	return installed.dir
}

// A machine runs the commands of one file. It has its own namespaces of network, mounts,
// processes and host name.
type machine struct {
	dir string // what the harness writes; on the machine it is insideDir
	pid int    // process id of its first process
	env []string
}

// The paths of things for a reader.
const (
	home      = "/home/ops"
	clone     = home + "/leaderrun"
	insideDir = "/run/docs"
)

// boot makes a machine, as its process 1, and then waits forever. Everything except for
// separate file systems is read-only there. Its arguments are the installed directory, an
// empty directory, and what the machine finds in /run: the directory of the harness, the
// clone, the caches of Go, Go, and etcd. It prepares /run elsewhere, because any of these
// may be below /run. The host's /usr/local and /etc/leaderrun are hidden.
const boot = `
mount --make-rprivate / && mount -t proc proc /proc && ip link set lo up && hostname web1 &&
installed=$1 run=$2 && shift && mount -t tmpfs tmpfs "$run" && cd "$run" &&
for dir in docs clone gocache gomodcache goroot etcd; do shift && mkdir $dir && mount --bind "$1" $dir || exit; done &&
mkdir layers && cd layers && mkdir u1 w1 u2 w2 &&
mount -t overlay overlay -o "lowerdir=$installed/usr/local,upperdir=u1,workdir=w1" /usr/local &&
mount --no-mtab --move "$run" /run && cd / &&
{ [ ! -d /etc/leaderrun ] || mount -t tmpfs tmpfs /etc/leaderrun; } &&
mount -t tmpfs tmpfs /home && mkdir -p /home/ops/leaderrun && cd /run/layers &&
mount -t overlay overlay -o lowerdir=/run/clone,upperdir=u2,workdir=w2 /home/ops/leaderrun &&
mount -t tmpfs tmpfs /var/lib && mount -t tmpfs tmpfs /tmp &&
mount -o remount,bind,ro / && echo >/run/docs/up || exit
while :; do read -r _ || sleep 1000; done
`

func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Getuid() != 0 {
		realserver.Missing(t, "only root can make a machine for each file")
	}
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{dir: t.TempDir(), env: environment()}
	var out bytes.Buffer
	c := exec.Command("bash", "-c", boot, "boot", install(t), t.TempDir(), m.dir, here,
		goenv(t, "GOCACHE"), goenv(t, "GOMODCACHE"), goenv(t, "GOROOT"), filepath.Dir(etcdtest.Binary(t, "", "etcd")))
	c.Stdout, c.Stderr = &out, &out
	in, err := c.StdinPipe() // closing it ends the machine, and so does our end
	if err != nil {
		t.Fatal(err)
	}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC}
	if err := c.Start(); err != nil {
		realserver.Missing(t, "namespaces: "+err.Error())
	}
	m.pid = c.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := m.command("sh", "-c", "tail -n 40 ~/*.log").CombinedOutput() // there may be none
			t.Logf("logs on the machine:\n%s\nto repeat: %s", logs, trial.Command(t))
		}
		_ = c.Process.Kill() // kills everything that runs there
		<-ended
		in.Close()
	})
	until(t, "the machine is up", func() bool {
		select {
		case err := <-ended:
			ended <- err
			realserver.Missing(t, fmt.Sprintf("make a machine: %v\n%s", err, &out))
		default:
		}
		_, err := os.Stat(filepath.Join(m.dir, "up"))
		return err == nil
	})
	return m
}

// environment returns the environment of a reader who has just logged in, with our etcd
// and Go first in PATH. A reader builds with the same settings as make, so that packages
// are compiled once.
func environment() []string {
	return []string{
		"HOME=" + home, "USER=root", "LOGNAME=root", "SHELL=/bin/bash", "LANG=C.UTF-8", "TZ=UTC",
		"PATH=/run/etcd:/run/goroot/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"GOCACHE=/run/gocache", "GOMODCACHE=/run/gomodcache", "GOFLAGS=-mod=readonly -trimpath -buildvcs=false", "CGO_ENABLED=0", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local",
	}
}

func goenv(t *testing.T, name string) string {
	t.Helper()
	value, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(value))
}

// command returns a command to run on the machine.
func (m *machine) command(args ...string) *exec.Cmd {
	args = append([]string{"-t", strconv.Itoa(m.pid), "-n", "-m", "-p", "-u", "-i", "--"}, args...)
	c := exec.Command("nsenter", args...)
	c.Env = m.env
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	return c
}
