package examples

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
)

// objects returns the objects in a file of manifests.
func objects(t *testing.T, file string) (all []map[string]any) {
	t.Helper()
	for text := range strings.SplitSeq(read(t, file), "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

// place returns where the API has the objects of a kind, in a namespace.
func place(o map[string]any, namespace string) string {
	version := o["apiVersion"].(string)
	root := "/apis/" + version
	if version == "v1" {
		root = "/api/v1"
	}
	return root + "/namespaces/" + namespace + "/" + strings.ToLower(o["kind"].(string)) + "s"
}

// A pod is imitated by a process that finds a service account where a pod does.
type pods struct {
	server    *kubetest.Server
	namespace string
	account   string // a directory with the files of the service account
	path      string
}

func (p *pods) run(t *testing.T, n int, c podContainer) *process {
	t.Helper()
	ip := fmt.Sprint("127.0.0.", n)
	args := strings.Split(strings.ReplaceAll(strings.Join(append(c.Command, c.Args...), "\n"), "$(POD_IP)", ip), "\n")
	const enter = `mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io && cp -r "$0" /run/secrets/kubernetes.io/serviceaccount && exec "$@"`
	cmd := exec.Command("unshare", append([]string{"--mount", "sh", "-c", enter, p.account}, args...)...)
	host, port, _ := strings.Cut(p.server.Addr(), ":")
	cmd.Env = []string{"PATH=" + p.path, "HOME=/nonexistent", fmt.Sprint("LEADERRUN_ID=worker-", n), "KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port}
	return start(t, cmd)
}

// TestLease applies the manifests, and runs two of their pods with the rights that the Role
// gives. One works; it survives an outage of the API, as does its liveness; and when it is drained,
// the other one works.
func TestLease(t *testing.T) {
	t.Parallel()
	if !namespaces() {
		t.Skip("this user may not mount anything")
	}
	s := kubetest.Start(t)
	p := &pods{server: s, namespace: s.Namespace(), account: filepath.Join(t.TempDir(), "account")}
	var d deployment
	for _, o := range append(objects(t, "kubernetes/lease.yaml"), objects(t, "kubernetes/cronjob.yaml")...) {
		s.Do(http.MethodPost, place(o, p.namespace)+"?dryRun=All&fieldValidation=Strict", o)
		switch o["kind"] {
		case "ServiceAccount", "Role", "RoleBinding":
			if o["kind"] == "RoleBinding" {
				o["subjects"].([]any)[0].(map[string]any)["namespace"] = p.namespace // as kubectl apply -n does
			}
			s.Do(http.MethodPost, place(o, p.namespace), o)
		case "Deployment":
			text, _ := yaml.Marshal(o)
			if err := yaml.Unmarshal(text, &d); err != nil {
				t.Fatal(err)
			}
		}
	}
	var made struct{ Status struct{ Token string } }
	if err := json.Unmarshal([]byte(s.Do(http.MethodPost, "/api/v1/namespaces/"+p.namespace+"/serviceaccounts/worker/token", map[string]any{})), &made); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"token": made.Status.Token, "namespace": p.namespace, "ca.crt": read(t, s.CAFile)} {
		write(t, filepath.Join(p.account, name), text, 0o600)
	}
	dir := t.TempDir()
	program(t, dir, "worker", "trap 'echo drained >>"+dir+"/log; exit 0' TERM\necho $LEADERRUN_HOLDER >>"+dir+"/log\nwhile :; do sleep 0.05; done")
	p.path = dir + ":" + bin(t) + ":/usr/bin:/bin"
	log := func() string { return read(t, filepath.Join(dir, "log")) }
	c := d.Spec.Template.Spec.Containers[0]
	port := c.Ports[0].ContainerPort
	first := p.run(t, 2, c)
	eventually(t, "the first pod works", func() bool { return log() == "worker-2\n" })
	second := p.run(t, 3, c)
	get := func(n int, path string) (status int, text string) {
		resp, err := http.Get("http://" + net.JoinHostPort(fmt.Sprint("127.0.0.", n), port) + path)
		if err != nil {
			return 0, ""
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	answers := func(n int, path string) int { status, _ := get(n, path); return status }
	eventually(t, "one pod is ready", func() bool {
		return answers(2, "/is-leader") == http.StatusOK && answers(3, "/is-leader") == http.StatusServiceUnavailable
	})
	eventually(t, "the other pod waits", func() bool { _, text := get(3, "/leader"); return strings.Contains(text, `"holder":"worker-2`) })
	s.Kill()
	for n := 2; n <= 3; n++ {
		if got := answers(n, c.LivenessProbe.HTTPGet.Path); got != http.StatusOK {
			t.Errorf("during an outage of the API, the liveness of pod %d is %d", n, got)
		}
	}
	s.Start()
	if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil { // unshare has become leaderrun
		t.Fatal(err)
	}
	first.exits(0)
	defer func() {
		if t.Failed() {
			t.Logf("the workers wrote %q; the second pod %s", log(), &second.stderr)
		}
	}()
	eventually(t, "the second pod works", func() bool { return log() == "worker-2\ndrained\nworker-3\n" })
	if out := second.stderr.String(); strings.Contains(out, "error: ") { // a server that starts refuses everything for a moment
		t.Errorf("the second pod has failed: %s", out)
	}
}
