// Typecheck PLATFORM... checks the types of all packages and of their tests for other
// systems. Of what they import it reads only the declarations: to compile all that for one
// system takes minutes.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	failed := false
	s := source{fset: token.NewFileSet(), files: map[string]*ast.File{}}
	for _, platform := range os.Args[1:] {
		n, err := s.check(platform)
		fmt.Printf("%s: types of %d packages\n", platform, n)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// A source has the files that were read. Most are the same on all systems.
type source struct {
	fset  *token.FileSet
	files map[string]*ast.File
}

// A listed is what go list says of a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string // if the import path in the source is another
	Module          *struct{ Main bool }
}

// check checks all packages for a platform, and returns how many are ours.
func (s source) check(platform string) (ours int, err error) {
	goos, goarch, _ := strings.Cut(platform, "/")
	list := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := list.Start(); err != nil {
		return 0, err
	}
	var errs []error
	done := packages{"unsafe": types.Unsafe}
	for d := json.NewDecoder(out); ; { // each package comes after those that it imports
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue // in the compiler, and the main package of a test, which is generated
		}
		mine := p.Module != nil && p.Module.Main
		if mine {
			ours++
		}
		files, err := s.parse(p)
		errs = append(errs, err)
		config := types.Config{
			IgnoreFuncBodies: !mine,
			Sizes:            types.SizesFor("gc", goarch),
			Importer:         importer{done, p.ImportMap},
			Error:            func(err error) { errs = append(errs, err) },
		}
		path, _, _ := strings.Cut(p.ImportPath, " ") // p [p.test]
		done[p.ImportPath], _ = config.Check(path, s.fset, files, nil)
	}
	return ours, errors.Join(append(errs, list.Wait())...)
}

// parse reads the files of a package, each once.
func (s source) parse(p listed) (files []*ast.File, err error) {
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		if s.files[path] == nil {
			if s.files[path], err = parser.ParseFile(s.fset, path, nil, parser.SkipObjectResolution); err != nil {
				return nil, err
			}
		}
		files = append(files, s.files[path])
	}
	return files, nil
}

type packages map[string]*types.Package

// An importer finds what a package imports. It implements [types.Importer].
type importer struct {
	packages
	names map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if name, ok := i.names[path]; ok {
		path = name
	}
	if p := i.packages[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was not listed", path)
}
