package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/leaderrun/leaderrun/runner/timing"
)

// The fields that are checked here, of Kubernetes' types and of the Compose specification.
type (
	deployment struct {
		Spec struct {
			Selector labelSelector
			Template struct {
				Metadata struct{ Labels map[string]string }
				Spec     podSpec
			}
		}
	}
	labelSelector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	podSpec struct {
		TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
		TopologySpreadConstraints     []struct {
			LabelSelector labelSelector `yaml:"labelSelector"`
		} `yaml:"topologySpreadConstraints"`
		Containers []podContainer
		Volumes    []struct{ Name string }
	}
	probe struct {
		HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	}
	podContainer struct {
		Command, Args []string
		Env           []struct {
			Name, Value string
			ValueFrom   any `yaml:"valueFrom"`
		}
		Ports []struct {
			Name          string
			ContainerPort string `yaml:"containerPort"`
		}
		LivenessProbe  probe                   `yaml:"livenessProbe"`
		ReadinessProbe probe                   `yaml:"readinessProbe"`
		VolumeMounts   []struct{ Name string } `yaml:"volumeMounts"`
	}
	service struct {
		Build           string
		Command         []string
		Environment     map[string]string
		HealthCheck     struct{ Test []string } `yaml:"healthcheck"`
		StopGracePeriod string                  `yaml:"stop_grace_period"`
	}
)

func decode(t *testing.T, file string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, file)), into); err != nil {
		t.Fatal(err)
	}
}

// TestDeployment checks that names in the deployment agree, that leaderrun accepts its
// arguments and variables, and that the pod's grace has room for the worker's.
func TestDeployment(t *testing.T) {
	t.Parallel()
	var d deployment
	decode(t, "kubernetes/deployment.yaml", &d)
	pod := d.Spec.Template.Spec
	for _, selector := range []labelSelector{d.Spec.Selector, pod.TopologySpreadConstraints[0].LabelSelector} {
		for key, value := range selector.MatchLabels {
			if labels := d.Spec.Template.Metadata.Labels; labels[key] != value {
				t.Errorf("a selector wants %s=%s, but the pods have %v", key, value, labels)
			}
		}
	}
	c := pod.Containers[0]
	for i, m := range c.VolumeMounts {
		if pod.Volumes[i].Name != m.Name {
			t.Errorf("volume %d is %s, what is mounted is %s", i, pod.Volumes[i].Name, m.Name)
		}
	}
	for path, p := range map[string]probe{"/healthz": c.LivenessProbe, "/is-leader": c.ReadinessProbe} {
		if p.HTTPGet.Path != path || p.HTTPGet.Port != c.Ports[0].Name {
			t.Errorf("a probe asks %s at %s, want %s", p.HTTPGet.Path, p.HTTPGet.Port, path)
		}
	}
	grace := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second
	for _, arg := range []string{"--kill-after=" + (grace - 7*time.Second).String(), "--metrics-listen=$(POD_IP):" + c.Ports[0].ContainerPort} {
		if !slices.Contains(c.Args, arg) {
			t.Errorf("the pod's grace and port want %s, got %q", arg, c.Args)
		}
	}
	var pairs, env []string // $(NAME) is a variable that was set before
	for _, v := range c.Env {
		if v.ValueFrom != nil {
			v.Value = "10.0.0.1"
		}
		value := strings.NewReplacer(pairs...).Replace(v.Value)
		pairs = append(pairs, "$("+v.Name+")", value)
		env = append(env, v.Name+"="+value)
	}
	var args []string
	for _, a := range slices.Concat(c.Command, c.Args) {
		args = append(args, strings.NewReplacer(pairs...).Replace(a))
	}
	if all := strings.Join(append(args, env...), " "); strings.Contains(all, "$(") {
		t.Errorf("a variable is not known in %s", all)
	}
	accepted(t, args, env)
}

// TestCompose checks the same for the workers of the Compose example, which have the entry point
// of the image.
func TestCompose(t *testing.T) {
	t.Parallel()
	var p struct{ Services struct{ Worker service } }
	decode(t, "compose/compose.yaml", &p)
	worker := p.Services.Worker
	if grace, err := time.ParseDuration(worker.StopGracePeriod); err != nil || grace != timing.KillAfter+7*time.Second {
		t.Errorf("the container is killed after %v, the worker after %v: %v", grace, timing.KillAfter, err)
	}
	if _, err := os.Stat(filepath.Join("compose", worker.Build, "Dockerfile")); err != nil {
		t.Error(err)
	}
	if want := []string{"CMD", "leaderrun-monitor", "probe", "http://127.0.0.1:9100/healthz"}; !slices.Equal(worker.HealthCheck.Test, want) || !slices.Contains(worker.Command, "--metrics-listen=9100") {
		t.Errorf("the health check is %q, want %q and the same port in %q", worker.HealthCheck.Test, want, worker.Command)
	}
	entry := regexp.MustCompile(`(?m)^ENTRYPOINT \["(\w+)"\]$`).FindStringSubmatch(read(t, "image/Dockerfile"))
	if entry == nil {
		t.Fatal("the image has no entry point")
	}
	var env []string
	for name, value := range worker.Environment {
		env = append(env, name+"="+value)
	}
	accepted(t, append([]string{entry[1]}, worker.Command...), env)
}

// accepted checks that leaderrun accepts a container's command line and variables, and that its
// lock is in etcd.
func accepted(t *testing.T, args, env []string) {
	t.Helper()
	c := exec.Command(args[0], append([]string{"config", "show"}, args[1:]...)...)
	c.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+t.TempDir())
	out, err := c.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^backend +etcd`).Match(out) || !regexp.MustCompile(`(?m)^lock +worker `).Match(out) {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
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
