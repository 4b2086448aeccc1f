// Package programs builds the programs of this module as they are released, for the tests that
// run them. This is a package of its own because tests without any backend use it.
package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

const module = "github.com/leaderrun/leaderrun"

// SharedVariable names a directory with programs as they are released, which `make test` has
// built for all tests. Tests build those that it lacks, and without the variable, all.
const SharedVariable = "LEADERRUN_TEST_PROGRAMS"

// The packages to build.
const (
	Leaderrun = module
	Helpers   = module + "/.../leaderrun-..." // a pattern; with leaderrun-monitor, which is found as helpers are
	ZooKeeper = module + "/locks/backend/zookeeper/leaderrun-zk"
	Subject   = module + "/faults/testdata/subject"
)

// tags are the build tags of released programs (see Makefile).
const tags = "urfave_cli_no_docs,grpcnotrace,disable_grpc_modules"

// Programs are built once, in a separate directory that anybody may read.
type Programs struct {
	Bundle bool // every backend is linked into leaderrun
	Race   bool // with the race detector

	// LDFlags are for the linker. By default it leaves out what only debuggers read.
	LDFlags string

	once sync.Once
	dir  string
	err  error
}

// Build builds packages as they are released, because a program that runs a thousand
// times must start fast. It does so once, and blocks until it is done.
func (p *Programs) Build(packages ...string) error {
	p.once.Do(func() { p.err = p.build(packages) })
	return p.err
}

func (p *Programs) build(packages []string) (err error) {
	if p.dir, err = os.MkdirTemp("", "leaderrun-programs-"); err != nil {
		return err
	}
	if err := os.Chmod(p.dir, 0o755); err != nil { // other users run the programs
		return err
	}
	if !p.Bundle && !p.Race && p.LDFlags == "" {
		if packages, err = p.share(packages); err != nil || len(packages) == 0 {
			return err
		}
	}
	c := exec.Command("go", append(p.command(), packages...)...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if p.Race { // the race detector's runtime is in C
		c.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}

// share copies programs from the shared directory, and returns the packages of the others.
func (p *Programs) share(packages []string) (others []string, err error) {
	from := os.Getenv(SharedVariable)
	for _, pkg := range packages {
		var found []string
		if from != "" && strings.HasPrefix(pkg, module) {
			found, _ = filepath.Glob(filepath.Join(from, strings.ReplaceAll(path.Base(pkg), "...", "*")))
		}
		if len(found) == 0 {
			others = append(others, pkg)
		}
		for _, program := range found {
			if err := os.Link(program, p.Path(filepath.Base(program))); err != nil {
				return nil, err
			}
		}
	}
	return others, nil
}

// command returns the go command. It does not ask git, whose answer would differ between
// copies of the tree, and which may refuse to answer.
func (p *Programs) command() []string {
	ldflags, tags, how := p.LDFlags, tags, "-trimpath"
	if ldflags == "" {
		ldflags = "-s -w"
	}
	if p.Bundle {
		tags += ",bundle"
	}
	if p.Race {
		how = "-race" // of packages that were compiled for tests
	}
	return []string{"build", "-buildvcs=false", how, "-tags", tags, "-ldflags", ldflags, "-o", p.dir + "/"}
}

// Dir returns the directory of the programs.
func (p *Programs) Dir() string { return p.dir }

// Path returns the path of a program.
func (p *Programs) Path(name string) string { return filepath.Join(p.dir, name) }

// Sum returns a checksum of the programs without those of some names. It is that of any other
// build of the same source.
func (p *Programs) Sum(without ...string) (string, error) {
	all, err := os.ReadDir(p.dir) // in the order of their names
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, file := range all {
		if slices.Contains(without, file.Name()) {
			continue
		}
		text, err := os.ReadFile(p.Path(file.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, file.Name(), len(text))
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Remove removes the programs.
func (p *Programs) Remove() {
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// Status returns the exit status of a process as a shell shows it, or -1 if there is
// none.
func Status(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	if ws := s.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}
