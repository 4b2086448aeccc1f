package examples

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A container is one that an example describes. It is run as a process of this machine,
// with the programs of the example's image.
type container struct {
	args []string
	env  []string // the whole environment except PATH
	port string   // of --metrics-listen, on this machine
	user int      // 0 for the user who runs the test
}

// image returns a directory with the image's worker that anybody may read.
func image(t *testing.T) string {
	t.Helper()
	dir := public(t)
	write(t, filepath.Join(dir, "worker"), read(t, "image/worker"), 0o755)
	return dir
}

// public returns a directory that anybody may read.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "example-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// setPort replaces the port of an example by a free port of this machine, so that several
// containers can run here.
func (c *container) setPort(t *testing.T, port string) {
	t.Helper()
	c.port = fmt.Sprint(realserver.FreePort(t))
	listen := slices.IndexFunc(c.args, func(a string) bool {
		return strings.HasPrefix(a, "--metrics-listen=") && strings.HasSuffix(a, port)
	})
	if listen < 0 {
		t.Fatalf("no argument of %q has --metrics-listen and the port %s", c.args, port)
	}
	c.args[listen] = strings.TrimSuffix(c.args[listen], port) + c.port
}

func (c *container) start(t *testing.T, image string) *process {
	t.Helper()
	cmd := exec.Command("env", c.args...) // env(1) looks in the container's PATH
	cmd.Dir = "/"
	cmd.Env = append([]string{"PATH=" + image + ":" + bin(t) + ":/usr/bin:/bin", "HOME=/"}, c.env...)
	if c.user != 0 && os.Geteuid() == 0 {
		id := uint32(c.user)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	}
	return start(t, cmd)
}

// get requests a path from a container's port.
func (c *container) get(path string) (status int, body string) {
	answer, err := http.Get("http://127.0.0.1:" + c.port + path)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(b)
}

// leads reports whether a container says that it leads.
func (c *container) leads() bool {
	_, body := c.get("/leader")
	var answer struct {
		IsLeader bool `json:"is_leader"`
	}
	return json.Unmarshal([]byte(body), &answer) == nil && answer.IsLeader
}

// A replicaSet is the running containers of one example.
type replicaSet struct {
	containers []*container
	processes  []*process
}

// leader waits until one container leads and has started its worker, and returns its
// number.
func (r *replicaSet) leader(t *testing.T) int {
	t.Helper()
	leader := -1
	eventually(t, "one of the containers leads, and its worker works", func() bool {
		leader = slices.IndexFunc(r.containers, (*container).leads)
		return leader >= 0 && strings.Contains(r.processes[leader].stdout.String(), "works, with token")
	})
	return leader
}

// failOver ends the leader, first in order and then with its machine, and checks that
// another one takes over each time. One of the three containers is left.
func (r *replicaSet) failOver(t *testing.T) {
	t.Helper()
	first := r.leader(t)
	r.processes[first].signal(syscall.SIGTERM)
	r.processes[first].exits(128 + int(syscall.SIGTERM))
	second := r.leader(t)
	signalAll(tree(t, r.processes[second].cmd.Process.Pid), syscall.SIGKILL)
	r.processes[second].exits(128 + int(syscall.SIGKILL))
	third := r.leader(t)
	if third == second || second == first {
		t.Errorf("%d, %d and %d led", first, second, third)
	}
}
