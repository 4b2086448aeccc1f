package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// support is the file that is added to each package. It is told which mutant is on, or that
// each that would make a difference writes its number to a file.
const support = `package %s

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"sync"
)

var mutant_chosen = func() int {
	if n, err := strconv.Atoi(os.Getenv("MUTANT")); err == nil {
		return n
	}
	return -1
}()

var mutant_file, _ = os.OpenFile(os.Getenv("MUTANTS_REACHED"), os.O_APPEND|os.O_WRONLY, 0)

var mutant_reached sync.Map

// mutant_on reports whether a mutant is on. It is called where that makes a difference.
func mutant_on(n int) bool {
	if mutant_file != nil {
		if _, again := mutant_reached.LoadOrStore(n, true); !again {
			fmt.Fprintln(mutant_file, n)
		}
	}
	return n == mutant_chosen
}

func mutant_true[B ~bool](n int, b B) B { return b || B(mutant_on(n)) }

func mutant_false[B ~bool](n int, b B) B { return b && !B(mutant_on(n)) }

func mutant_less[T cmp.Ordered](n int, a, b T) bool { return a < b || a == b && mutant_on(n) }

func mutant_less_equal[T cmp.Ordered](n int, a, b T) bool { return a < b || a == b && !mutant_on(n) }

func mutant_greater[T cmp.Ordered](n int, a, b T) bool { return a > b || a == b && mutant_on(n) }

func mutant_greater_equal[T cmp.Ordered](n int, a, b T) bool { return a > b || a == b && !mutant_on(n) }

func mutant_number(n, is, other int) int {
	if mutant_on(n) {
		return other
	}
	return is
}
`

// A set is all mutants, and the changed files for the option -overlay of go build.
type set struct {
	dir     string // for the files
	replace map[string]string
	mutants []*mutant
}

// instrument adds the mutants of a package.
func (all *set) instrument(p *pkg) error {
	if err := all.write(filepath.Join(p.dir, "mutant_support.go"), fmt.Sprintf(support, p.types.Name())); err != nil {
		return err
	}
	for _, syntax := range p.files {
		path := p.fset.Position(syntax.Pos()).Filename
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f := &file{all: all, pkg: p, syntax: syntax, source: source, edits: map[int]edit{}}
		f.instrument()
		if err := all.write(path, f.text()); err != nil {
			return err
		}
	}
	return nil
}

// write writes what is compiled in place of a file.
func (all *set) write(path, text string) error {
	other := filepath.Join(all.dir, fmt.Sprint(len(all.replace), ".go"))
	all.replace[path] = other
	return os.WriteFile(other, []byte(text), 0o600)
}

// overlay writes the file for -overlay, and returns its name.
func (all *set) overlay() (string, error) {
	b, err := json.Marshal(map[string]any{"Replace": all.replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(all.dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o600)
}

// A file is one to which mutants are added. All is done in its text, so that lines keep their
// numbers and comments their places.
type file struct {
	all    *set
	pkg    *pkg
	syntax *ast.File
	source []byte
	edits  map[int]edit // by their offset in source
}

// An edit inserts the ends of what ends here and the beginnings of what begins, and leaves
// out bytes of the source.
type edit struct {
	ends, begins string
	skip         int
}

func (f *file) instrument() {
	for _, d := range f.syntax.Decls {
		d, ok := d.(*ast.FuncDecl)
		if !ok || d.Body == nil {
			continue
		}
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		ast.PreorderStack(d.Body, nil, (&function{f, name, map[string]int{}}).node)
	}
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	}
	return e.(*ast.Ident).Name
}

func (f *file) offset(p token.Pos) int { return f.pkg.fset.Position(p).Offset }

// insert puts texts around a node. It is called for outer nodes first.
func (f *file) insert(n ast.Node, before, after string) {
	e := f.edits[f.offset(n.Pos())]
	e.begins += before
	f.edits[f.offset(n.Pos())] = e
	e = f.edits[f.offset(n.End())]
	e.ends = after + e.ends
	f.edits[f.offset(n.End())] = e
}

// replace replaces an operator.
func (f *file) replace(p token.Pos, n int, text string) {
	e := f.edits[f.offset(p)]
	e.begins, e.skip = e.begins+text, n
	f.edits[f.offset(p)] = e
}

func (f *file) text() string {
	var b strings.Builder
	for i := 0; i < len(f.source); {
		e := f.edits[i]
		b.WriteString(e.ends + e.begins)
		if e.skip == 0 {
			b.WriteByte(f.source[i])
			i++
		}
		i += e.skip
	}
	return b.String()
}
