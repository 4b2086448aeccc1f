package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// instrumented returns a file with all mutants, and their keys.
func instrumented(t *testing.T, source string) (text string, keys []string) {
	t.Helper()
	p := &pkg{name: "p", fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
	syntax, err := parser.ParseFile(p.fset, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if p.types, err = new(types.Config).Check("p", p.fset, []*ast.File{syntax}, p.info); err != nil {
		t.Fatal(err)
	}
	all := &set{}
	f := &file{all: all, pkg: p, syntax: syntax, source: []byte(source), edits: map[int]edit{}}
	f.instrument()
	for _, m := range all.mutants {
		keys = append(keys, m.key)
	}
	return f.text(), keys
}

func TestOperators(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"if a || b && c { f() }":           "if mutant_true(0, mutant_false(1, mutant_false(2, a) || mutant_false(3, mutant_true(4, b) && mutant_true(5, c)))) { if !mutant_on(6) { f() } }",
		"switch { case i <= 10: return }":  "switch { case mutant_true(0, mutant_false(1, mutant_less_equal(2, i , int(mutant_number(3, 10, 9))))): return }",
		"for i > 11 { defer f() }":         "for mutant_false(0, mutant_greater(1, i , 11)) { if !mutant_on(2) { defer f() } }",
		"a = !(b || c)":                    "if !mutant_on(0) { a = !(mutant_false(1, b) || mutant_false(2, c)) }",
		"a = b == c":                       "if !mutant_on(0) { a = mutant_true(1, mutant_false(2, b == c)) }",
		"a = true":                         "if !mutant_on(0) { a = (mutant_on(1) != true) }",
		"const one = 1; d := 2*one; _ = d": "const one = 1; d := int(mutant_number(0, 2, 1))*one; _ = d",
		"var x [2]int; i = -x[0]":          "var x [2]int; if !mutant_on(0) { i = -x[int(mutant_number(1, 0, 1))] }",
		"for i = 0; a; i++ {}":             "for i = int(mutant_number(0, 0, 1)); mutant_false(1, a); i++ {}",
	} {
		const head = "package p\nvar a, b, c bool; var i int\nfunc f() { "
		got, _ := instrumented(t, head+source+" }")
		if got = strings.TrimSuffix(strings.TrimPrefix(got, head), " }"); got != want {
			t.Errorf("%s\n got %s\nwant %s", source, got, want)
		}
	}
}

// TestKeys: renaming something local, or moving a function, changes no key.
func TestKeys(t *testing.T) {
	t.Parallel()
	_, keys := instrumented(t, `package p
		type T struct{ n int }
		func (t *T) f(a int) bool { b := a + 1; return b > t.n || func() bool { return a == 3 }() }`)
	_, renamed := instrumented(t, `package p
		func (u T) f(x int) bool { y := x + 1; return y > u.n || func() bool { return x == 3 }() }
		type T struct{ n int }`)
	if len(keys) == 0 || !slices.Equal(keys, renamed) {
		t.Errorf("got %q, then %q", keys, renamed)
	}
}
