package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	dto "github.com/prometheus/client_model/go"

	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/monitor/metrics/feed"
)

// exportedNames returns the names of all metrics that we export, after a run in which every
// event has happened.
func exportedNames(t *testing.T) map[string]bool {
	t.Helper()
	r := newRig(t, feed.Open{})
	r.acquired()
	r.kinds(event.Started)
	r.exited(0)
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
		if f.GetType() == dto.MetricType_HISTOGRAM {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				names[f.GetName()+suffix] = true
			}
		}
	}
	return names
}

// uses checks that the metrics in an expression exist, and returns them.
func uses(t *testing.T, expr string) []string {
	t.Helper()
	have := exportedNames(t)
	names := regexp.MustCompile(`\bleaderrun_\w+`).FindAllString(expr, -1)
	if len(names) == 0 {
		t.Errorf("%s uses no metric of ours", expr)
	}
	for _, name := range names {
		if !have[name] {
			t.Errorf("%s: there is no %s", expr, name)
		}
	}
	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
		t.Errorf("%s: brackets do not match", expr)
	}
	return names
}

// read parses an example strictly.
func read(t *testing.T, name string, parse func([]byte) error) {
	t.Helper()
	text, err := os.ReadFile("../../../examples/prometheus/" + name)
	if err == nil {
		err = parse(text)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestAlertRules(t *testing.T) {
	t.Parallel()
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				For         string            `yaml:"for"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	read(t, "leaderrun.rules.yml", func(text []byte) error { return yaml.UnmarshalWithOptions(text, &file, yaml.Strict()) })
	seen := map[string]bool{}
	for _, g := range file.Groups {
		for _, rule := range g.Rules {
			uses(t, rule.Expr)
			if rule.Alert == "" || seen[rule.Alert] || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
				t.Errorf("the alert %q is there twice, or lacks something", rule.Alert)
			}
			seen[rule.Alert] = true
		}
	}
	for _, name := range []string{"NobodyLeads", "LeaseLow", "JobHasNotSucceeded", "Flapping"} {
		if !seen["Leaderrun"+name] {
			t.Errorf("there is no alert %s", name)
		}
	}
}

// The dashboard shows each metric.
func TestDashboard(t *testing.T) {
	t.Parallel()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	read(t, "leaderrun-dashboard.json", func(text []byte) error { return json.Unmarshal(text, &dashboard) })
	shown := map[string]bool{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			for _, name := range uses(t, target.Expr) {
				shown[name] = true
			}
		}
	}
	for name := range exportedNames(t) {
		some := shown[name] || shown[name+"_bucket"] || shown[name+"_sum"] || name == "leaderrun_lease_remaining_seconds"
		if part := regexp.MustCompile("_(bucket|sum|count)$").MatchString(name); !part && !some {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// docs/metrics.md describes each metric, and no others.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	have, known := exportedNames(t), map[string]bool{}
	for _, m := range regexp.MustCompile("`(leaderrun_\\w+)`").FindAllSubmatch(text, -1) {
		known[string(m[1])] = true
		if !have[string(m[1])] {
			t.Errorf("docs/metrics.md tells of %s, and there is none", m[1])
		}
	}
	for name := range have {
		if !known[name] && !known[regexp.MustCompile("_(bucket|sum|count)$").ReplaceAllString(name, "")] {
			t.Errorf("docs/metrics.md does not tell of %s", name)
		}
	}
}
