package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/leaderrun/leaderrun/"

// A pkg is a package whose code is changed.
type pkg struct {
	path, dir string
	name      string // of the package within the module
	fset      *token.FileSet
	files     []*ast.File
	info      *types.Info
	types     *types.Package
	suites    []*suite
}

// list returns the packages that match the patterns. Those that are a part of tests are left
// out.
func list(patterns []string) (all []*pkg, err error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,GoFiles,Imports,Export,DepOnly"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for d := json.NewDecoder(out); ; {
		var l struct {
			ImportPath, Dir, Export string
			GoFiles, Imports        []string
			DepOnly                 bool
		}
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, cmd.Wait()
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
		if l.DepOnly || slices.Contains(l.Imports, "testing") {
			continue
		}
		p := &pkg{path: l.ImportPath, dir: l.Dir, name: strings.TrimPrefix(l.ImportPath, module)}
		if err := p.parse(l.GoFiles, exports); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// parse reads the files of a package, and finds out the types of its expressions.
func (p *pkg) parse(names []string, exports map[string]string) (err error) {
	p.fset, p.info = token.NewFileSet(), &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	for _, name := range names {
		f, err := parser.ParseFile(p.fset, filepath.Join(p.dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.files = append(p.files, f)
	}
	c := types.Config{Importer: importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	p.types, err = c.Check(p.path, p.fset, p.files, p.info)
	return err
}
