package examples

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// The fields of Kubernetes' types that the example uses. Their own module takes a minute
// to compile. When you add a field here, look it up in the API's reference.
type (
	deployment struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   metadata
		Spec       struct {
			Replicas int
			Strategy struct {
				Type          string
				RollingUpdate struct {
					MaxSurge       string `yaml:"maxSurge"`
					MaxUnavailable string `yaml:"maxUnavailable"`
				} `yaml:"rollingUpdate"`
			}
			Selector labelSelector
			Template struct {
				Metadata metadata
				Spec     podSpec
			}
		}
	}
	metadata struct {
		Name   string
		Labels map[string]string
	}
	labelSelector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	podSpec struct {
		AutomountServiceAccountToken  *bool `yaml:"automountServiceAccountToken"`
		TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
		SecurityContext               struct {
			RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
			RunAsUser      int                   `yaml:"runAsUser"`
			RunAsGroup     int                   `yaml:"runAsGroup"`
			FSGroup        int                   `yaml:"fsGroup"`
			SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		TopologySpreadConstraints []struct {
			MaxSkew           int           `yaml:"maxSkew"`
			TopologyKey       string        `yaml:"topologyKey"`
			WhenUnsatisfiable string        `yaml:"whenUnsatisfiable"`
			LabelSelector     labelSelector `yaml:"labelSelector"`
		} `yaml:"topologySpreadConstraints"`
		Containers []podContainer
		Volumes    []volume
	}
	probe struct {
		HTTPGet struct {
			Path, Port string
		} `yaml:"httpGet"`
		PeriodSeconds    int `yaml:"periodSeconds"`
		TimeoutSeconds   int `yaml:"timeoutSeconds"`
		FailureThreshold int `yaml:"failureThreshold"`
	}
	podContainer struct {
		Name, Image   string
		Command, Args []string
		Env           []variable
		Ports         []struct {
			Name          string
			ContainerPort int `yaml:"containerPort"`
		}
		LivenessProbe  probe `yaml:"livenessProbe"`
		ReadinessProbe probe `yaml:"readinessProbe"`
		Resources      struct {
			Requests, Limits map[string]string
		}
		SecurityContext struct {
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
			Capabilities             struct{ Drop []string }
		} `yaml:"securityContext"`
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"volumeMounts"`
	}
	variable struct {
		Name, Value string
		ValueFrom   struct {
			FieldRef struct {
				FieldPath string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
		} `yaml:"valueFrom"`
	}
	volume struct {
		Name   string
		Secret struct {
			SecretName  string `yaml:"secretName"`
			DefaultMode int    `yaml:"defaultMode"`
		}
		EmptyDir struct {
			Medium    string
			SizeLimit string `yaml:"sizeLimit"`
		} `yaml:"emptyDir"`
	}
)

func readDeployment(t *testing.T) *deployment {
	t.Helper()
	var d deployment
	if err := yaml.UnmarshalWithOptions([]byte(read(t, "kubernetes/deployment.yaml")), &d, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	return &d
}

// TestDeployment checks what the API server would refuse, or would not do as the comments
// say.
func TestDeployment(t *testing.T) {
	t.Parallel()
	d := readDeployment(t)
	if d.APIVersion != "apps/v1" || d.Kind != "Deployment" || d.Spec.Replicas != 3 {
		t.Errorf("the deployment is %d of %s %s", d.Spec.Replicas, d.APIVersion, d.Kind)
	}
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
	if s := c.SecurityContext; !pod.SecurityContext.RunAsNonRoot || !s.ReadOnlyRootFilesystem ||
		s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || fmt.Sprint(s.Capabilities.Drop) != "[ALL]" {
		t.Error("the container has too many rights")
	}
	grace := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second
	if kill := grace - 5*time.Second; !slices.Contains(c.Args, fmt.Sprintf("--kill-after=%.0fs", kill.Seconds())) {
		t.Errorf("the pod is killed after %v, the worker not after %v: %q", grace, kill, c.Args)
	}
}

// TestDeploymentRuns runs the container's command, with its arguments and variables, in
// three pods.
func TestDeploymentRuns(t *testing.T) {
	t.Parallel()
	d, server, dir := readDeployment(t), startEtcd(t), image(t)
	secret := public(t)
	for name, file := range map[string]string{"ca.crt": server.ca, "tls.crt": server.cert, "tls.key": server.key} {
		write(t, filepath.Join(secret, name), read(t, file), 0o644)
	}
	spec := d.Spec.Template.Spec.Containers[0]
	probe := spec.LivenessProbe.HTTPGet
	var pods replicaSet
	for i := range d.Spec.Replicas {
		c := spec.inPod(t, i)
		for j, v := range c.env {
			v = strings.Replace(v, "=/etc/leaderrun/etcd/", "="+secret+"/", 1)
			c.env[j] = server.here(v)
		}
		c.env = append(c.env, "LEADERRUN_TTL=8s") // for a short test
		c.user = d.Spec.Template.Spec.SecurityContext.RunAsUser
		c.setPort(t, fmt.Sprint(spec.port(t, probe.Port)))
		pods.containers = append(pods.containers, c)
		pods.processes = append(pods.processes, c.start(t, dir))
	}
	leader := pods.leader(t)
	for i, c := range pods.containers {
		eventually(t, "the probe is answered", func() bool {
			status, _ := c.get(probe.Path)
			return status == 200
		})
		if c.leads() != (i == leader) {
			t.Errorf("%d leads, but %d says that it does", leader, i)
		}
		if ready, _ := c.get(spec.ReadinessProbe.HTTPGet.Path); (ready == 200) != (i == leader) {
			t.Errorf("%d leads, and %d is ready: %d", leader, i, ready)
		}
	}
	want := fmt.Sprintf("worker: node-%d/worker-%[1]d works", leader)
	if got := pods.processes[leader].stdout.String(); !strings.HasPrefix(got, want) {
		t.Errorf("the worker printed %q, want %q", got, want)
	}
	pods.failOver(t)
}

func (c podContainer) port(t *testing.T, name string) int {
	t.Helper()
	for _, p := range c.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	t.Fatalf("there is no port %s", name)
	return 0
}

// inPod returns what the kubelet makes of a container in pod number i: $(NAME) is
// replaced by the variable if it was set before.
func (c podContainer) inPod(t *testing.T, i int) *container {
	t.Helper()
	fields := map[string]string{
		"status.podIP": "127.0.0.1", "metadata.name": fmt.Sprint("worker-", i), "spec.nodeName": fmt.Sprint("node-", i),
	}
	values := map[string]string{}
	expand := func(text string) string {
		for name, value := range values {
			text = strings.ReplaceAll(text, "$("+name+")", value)
		}
		if strings.Contains(text, "$(") {
			t.Fatalf("what is %q?", text)
		}
		return text
	}
	made := &container{}
	for _, v := range c.Env {
		value := expand(v.Value)
		if field := v.ValueFrom.FieldRef.FieldPath; field != "" {
			value = fields[field]
		}
		values[v.Name] = value
		made.env = append(made.env, v.Name+"="+value)
	}
	for _, a := range slices.Concat(c.Command, c.Args) {
		made.args = append(made.args, expand(a))
	}
	return made
}
