package event

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// documented returns the first column of the table in docs/events.md whose heading begins
// with the given words.
func documented(t *testing.T, heading string) (names []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n| "+heading+" |")
	if !ok {
		t.Fatalf("docs/events.md has no table %q", heading)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for _, m := range regexp.MustCompile("(?m)^\\| ((?:`[a-z_]+`(?:, )?)+) \\|").FindAllStringSubmatch(table, -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			names = append(names, strings.Trim(name, "`"))
		}
	}
	slices.Sort(names)
	return names
}

// declared returns the string constants of a file whose names begin with a prefix.
func declared(t *testing.T, file, prefix string) (values []string) {
	t.Helper()
	f, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(strings.ToLower(spec.Names[0].Name), prefix) {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == gotoken.STRING {
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	slices.Sort(values)
	return values
}

// The documents list every kind, field and class of events, and no others.
func TestEventsAreDocumented(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Event]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	var all []string
	for _, tt := range []struct {
		heading string
		want    []string
	}{
		{"event", declared(t, "event.go", "")},
		{"field", fields},
		{"class", declared(t, "class.go", "class")},
	} {
		if got := documented(t, tt.heading); !slices.Equal(got, tt.want) {
			t.Errorf("the table %q has\n\t%q, but there are\n\t%q", tt.heading, got, tt.want)
		}
		all = append(all, tt.want...)
	}
	slices.Sort(all)
	if got, want := inManual(t), slices.Compact(all); !slices.Equal(got, want) {
		t.Errorf("leaderrun(1) has\n\t%q, but there are\n\t%q", got, want)
	}
}

// inManual returns the words that the manual page explains under EVENTS.
func inManual(t *testing.T) (words []string) {
	t.Helper()
	page, err := os.ReadFile("../../man/leaderrun.1")
	if err != nil {
		t.Fatal(err)
	}
	_, events, _ := strings.Cut(string(page), "\n.Sh EVENTS\n")
	events, _, _ = strings.Cut(events, "\n.Sh ")
	for _, m := range regexp.MustCompile(`(?m)^\.(?:It )?Cm (.*)$`).FindAllStringSubmatch(events, -1) {
		words = append(words, regexp.MustCompile(`[a-z_]+`).FindAllString(m[1], -1)...)
	}
	slices.Sort(words)
	return slices.Compact(words)
}
