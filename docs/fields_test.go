package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFieldsAreDocumented: operating.md explains each field of what is printed as JSON, and no
// other. Those of events are in events.md.
func TestFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct{ heading, file, name string }{
		{"`status`", "cmd/view/json.go", "Report"},
		{"a lock", "cmd/view/json.go", "JSON"},
		{"in `stopping`", "cmd/view/json.go", "Stopping"},
		{"in `queue`", "cmd/view/json.go", "Waiter"},
		{"in `last_run`", "cmd/view/json.go", "LastRun"},
		{"`watch`", "cmd/view/change.go", "ChangeJSON"},
		{"`version`", "cmd/version.go", "versions"},
		{"in `helpers`", "cmd/version.go", "helperVersion"},
		{"`doctor`", "cmd/doctor/output.go", "findings"},
		{"in `checks`", "cmd/doctor/check.go", "Check"},
	} {
		if got, want := explained(string(text), of.heading), fields(t, "../"+of.file, of.name); !slices.Equal(got, want) {
			t.Errorf("the table %s has\n\t%q, but there are\n\t%q", of.heading, got, want)
		}
	}
}

// explained returns the words in the first column of the table with a heading.
func explained(text, heading string) (words []string) {
	_, table, _ := strings.Cut(text, "\n| "+heading+" |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range strings.Split(table, "\n")[1:] {
		row, _, _ = strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		words = append(words, regexp.MustCompile("[a-z_]+").FindAllString(row, -1)...)
	}
	slices.Sort(words)
	return words
}

// fields returns the names that the fields of a type have in JSON.
func fields(t *testing.T, file, name string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			if field.Tag == nil {
				continue
			}
			tag, err := strconv.Unquote(field.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			word, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			names = append(names, word)
		}
		return false
	})
	slices.Sort(names)
	return names
}
