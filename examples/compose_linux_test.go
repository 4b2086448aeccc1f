package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// The fields of the Compose specification that the example uses. When you add a field
// here, look it up there.
type (
	project struct {
		Name     string
		Services struct {
			Etcd, Worker service
		}
		Networks map[string]struct{ Internal bool }
		Volumes  map[string]struct{}
	}
	service struct {
		Image, Build, Restart string
		Command               []string
		Environment           map[string]string
		Deploy                struct{ Replicas int }
		DependsOn             map[string]struct{ Condition string } `yaml:"depends_on"`
		Volumes               []string
		Networks              []string
		HealthCheck           struct {
			Test              []string
			Interval, Timeout string
			Retries           int
		} `yaml:"healthcheck"`
		StopGracePeriod string `yaml:"stop_grace_period"`
		ReadOnly        bool   `yaml:"read_only"`
		Tmpfs           []string
		CapDrop         []string `yaml:"cap_drop"`
		SecurityOpt     []string `yaml:"security_opt"`
	}
)

// TestCompose runs the workers' command with their variables in as many containers as the
// example has, with the image's entry point. Only the address of etcd is the test's.
func TestCompose(t *testing.T) {
	t.Parallel()
	var p project
	if err := yaml.UnmarshalWithOptions([]byte(read(t, "compose/compose.yaml")), &p, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	dir := image(t)
	server := etcdtest.Start(t, etcdtest.Options{}) // as in the example, without TLS
	worker := p.Services.Worker
	grace, err := time.ParseDuration(worker.StopGracePeriod)
	if err != nil {
		t.Fatal(err)
	}
	if kill := timing.KillAfter; grace != kill+5*time.Second {
		t.Errorf("the container is killed after %v, the worker after %v", grace, kill)
	}
	if _, err := os.Stat(filepath.Join("compose", worker.Build, "Dockerfile")); err != nil {
		t.Error(err)
	}
	entry := regexp.MustCompile(`(?m)^ENTRYPOINT \["(\w+)"\]$`).FindStringSubmatch(read(t, "image/Dockerfile"))
	if entry == nil {
		t.Fatal("the image has no entry point")
	}
	var workers replicaSet
	for range worker.Deploy.Replicas {
		c := &container{args: append([]string{entry[1]}, worker.Command...)}
		for name, value := range worker.Environment {
			c.env = append(c.env, name+"="+servers.ReplaceAllString(value, server.Addr()))
		}
		c.env = append(c.env, "LEADERRUN_TTL=8s") // for a short test
		c.setPort(t, "9100")
		workers.containers = append(workers.containers, c)
		workers.processes = append(workers.processes, c.start(t, dir))
	}
	workers.leader(t)
	for _, c := range workers.containers {
		var check []string
		for _, word := range worker.HealthCheck.Test[1:] { // except for CMD
			check = append(check, strings.Replace(word, ":9100", ":"+c.port, 1))
		}
		eventually(t, "the container is healthy", func() bool { return exec.Command(check[0], check[1:]...).Run() == nil })
	}
	workers.failOver(t)
}

// TestDockerfile checks that the image has the programs that the examples use.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	packages := regexp.MustCompile(`github.com/leaderrun/leaderrun[^@\s]*@`).FindAllString(read(t, "image/Dockerfile"), -1)
	if len(packages) != 3 {
		t.Fatalf("it installs %q", packages)
	}
	for _, pkg := range packages {
		out, err := exec.Command("go", "list", "-find", "-f", "{{.Name}}", strings.TrimSuffix(pkg, "@")).Output()
		if err != nil || string(out) != "main\n" {
			t.Errorf("%s is %q: %v", pkg, out, err)
		}
	}
}
