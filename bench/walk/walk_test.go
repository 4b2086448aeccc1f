//go:build bench && linux

// Package walk counts the functions that one renewal, one loss and one hand-over pass, in all
// processes of a run:
//
//	go test -tags bench -count 1 -v ./bench/walk
//
// It builds leaderrun and leaderrun-etcd so that they count how often each block of code is
// executed, makes a run with what is to be counted and one without, and lists the functions
// that differ. A closure counts as the function that contains it.
//
// For renewals, these are the functions of which a block was executed at least once more for
// each. So a function that other calls pass, too, counts, and one that runs by a clock of its
// own does not. A loss and a hand-over happen once, and so a function counts if one of its
// blocks was executed then and not at all in the other run: what any run passes on its way to a
// job, and away from it, is not listed again.
package walk

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
)

const module = "github.com/leaderrun/leaderrun/"

// counted is the function that each renewal passes once.
var counted = function{module + "locks/lease/keepalive/keep.go", "renew"}

// The leases are of 2 s. A short job takes no renewal, and a long one several.
const (
	short = "sleep 0.1"
	long  = "sleep 4.3"
)

type function struct{ file, name string }

// A block is a position as in a coverage profile, "file:line.column,line.column".
type block string

func TestWalk(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-cover", "-covermode=atomic", "-coverpkg=.,./cmd/...,./locks/...,./runner", "-overlay", overlay(t), "-o", dir, ".", "./locks/backend/etcd/leaderrun-etcd")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := etcdtest.Start(t, etcdtest.Options{})
	start := func(job string) *program {
		return begin(t, filepath.Join(dir, "leaderrun"), "-b", "etcd://"+server.Addr(), "-l", "walk", "--ttl", "2s", "-c", job)
	}
	inside := functions(t)

	t.Run("renewal", func(t *testing.T) {
		before, after := start(short).end(t, 0), start(long).end(t, 0)
		growth := map[function]int{}
		for b, n := range after {
			f := inside(b)
			growth[f] = max(growth[f], n-before[b])
		}
		renewals := growth[counted]
		if renewals < 5 {
			t.Fatalf("%d renewals", renewals)
		}
		maps.DeleteFunc(growth, func(_ function, n int) bool { return n < renewals })
		t.Log("\n" + report(slices.Collect(maps.Keys(growth))))
	})
	t.Run("loss", func(t *testing.T) {
		before := start(long).end(t, 0)
		holder := start("echo; " + long)
		holder.started(t)
		if _, err := operator(t, server).Delete(t.Context(), "\x00", clientv3.WithFromKey()); err != nil { // all keys
			t.Fatal(err)
		}
		t.Log("\n" + report(added(inside, before, holder.end(t, 76))))
	})
	t.Run("hand-over", func(t *testing.T) {
		before := start(long).end(t, 0)
		holder := start("echo; " + long)
		holder.started(t)
		waiter := start(long)
		holder.end(t, 0)
		t.Log("\n" + report(added(inside, before, waiter.end(t, 0))))
	})
}

func operator(t *testing.T, s *etcdtest.Server) *clientv3.Client {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// added returns the functions of which a block was executed after and not before.
func added(inside func(block) function, before, after map[block]int) []function {
	all := map[function]bool{}
	for b, n := range after {
		if n > 0 && before[b] == 0 {
			all[inside(b)] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}

// overlay returns a file that makes the build pass $GOCOVERDIR on to the guard. Otherwise the
// guard would print a warning that there is none on what is, at its start, its socket. The
// guard's own package cannot be counted, because a package that is takes no overlay.
func overlay(t *testing.T) string {
	const before = `[]string{"GOMAXPROCS=1"`
	file, err := filepath.Abs("../../runner/guard/client.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), before) != 1 {
		t.Fatalf("where the guard's environment is made: %v", err)
	}
	dir := t.TempDir()
	changed, list := filepath.Join(dir, "client.go"), filepath.Join(dir, "list")
	text = []byte(strings.Replace(string(text), before, before+`, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")`, 1))
	for name, content := range map[string]string{changed: string(text), list: fmt.Sprintf(`{"Replace":{%q:%q}}`, file, changed)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// A program writes coverage counters.
type program struct {
	*exec.Cmd
	counters string
	out      *bufio.Reader
}

func begin(t *testing.T, argv ...string) *program {
	p := &program{Cmd: exec.Command(argv[0], argv[1:]...), counters: t.TempDir()}
	p.Env = append(os.Environ(), "GOCOVERDIR="+p.counters)
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// started waits for the first line of the job.
func (p *program) started(t *testing.T) {
	if _, err := p.out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
}

// end waits until the program has ended with a status, and returns its counters.
func (p *program) end(t *testing.T, status int) map[block]int {
	if _, err := io.Copy(io.Discard, p.out); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); p.ProcessState.ExitCode() != status {
		t.Fatalf("%v, not status %d", err, status)
	}
	profile := filepath.Join(t.TempDir(), "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", p.counters, "-o", profile).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[block]int{}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		var at block
		var statements, n int
		if _, err := fmt.Sscan(lines.Text(), &at, &statements, &n); err == nil {
			blocks[at] += n
		}
	}
	return blocks
}

// functions returns what tells in which function a block is.
func functions(t *testing.T) func(block) function {
	files, set := map[string]*ast.File{}, token.NewFileSet()
	return func(b block) function {
		var line int
		file, at, _ := strings.Cut(string(b), ":")
		if _, err := fmt.Sscanf(at, "%d.", &line); err != nil {
			t.Fatal(err)
		}
		if files[file] == nil {
			var err error
			if files[file], err = parser.ParseFile(set, "../../"+strings.TrimPrefix(file, module), nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range files[file].Decls {
			if f, ok := d.(*ast.FuncDecl); ok && set.Position(f.Pos()).Line <= line && line <= set.Position(f.End()).Line {
				return function{file, f.Name.Name}
			}
		}
		return function{file: file}
	}
}

// report lists the functions by package and file.
func report(all []function) string {
	var b strings.Builder
	packages := map[string]map[string][]string{}
	for _, f := range all {
		dir, file := path.Split(strings.TrimPrefix(f.file, module))
		if packages[dir] == nil {
			packages[dir] = map[string][]string{}
		}
		packages[dir][file] = append(packages[dir][file], f.name)
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		n := 0
		for _, names := range packages[dir] {
			n += len(names)
		}
		fmt.Fprintf(&b, "%s %d functions in %d files\n", dir, n, len(packages[dir]))
		for _, file := range slices.Sorted(maps.Keys(packages[dir])) {
			fmt.Fprintf(&b, "\t%s %s\n", file, strings.Join(slices.Sorted(slices.Values(packages[dir][file])), " "))
		}
	}
	return b.String()
}
