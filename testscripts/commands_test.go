package testscripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// The commands of scripts besides testscript's own. A CODE is an exit status as
// a shell shows it, or the name of a signal: the program died of it, without a core
// dump. A FILE with a process id is one that the program stay has
// written.
//
//	exits [-within TIME] [-busy] CODE PROGRAM [ARG...]
//	                                run a program that ends with this code; with
//	                                -busy, again if no server answers in the
//	                                second that it has at least
//	start [-tty] NAME PROGRAM [ARG...]
//	                                run one in the background; its process id is
//	                                in $NAME_pid; with -tty, standard error is a
//	                                terminal, and what it shows is in NAME.tty
//	await [-within TIME] CODE NAME  wait until it has ended
//	signal SIGNAL NAME|FILE         send a signal to it, or to a job
//	end FILE [CODE]                 tell a job that runs stay to end
//	waitfor [-within TIME] FILE...  wait until files exist
//	waitgrep PATTERN FILE           wait until a file matches
//	[!] alive FILE...               does the process run?
//	gone FILE...                    wait until it does not
//	events [-without KIND,...] FILE KIND...
//	                                exactly these events, in this order
//	jsonlines FILE|stderr           each line is a JSON object
//	lines N FILE|stderr|stdout      the number of lines is N
//	need CONDITION WHAT             skip without it, or in CI fail
//	store [stop|start], etcd [KIND], zk [KIND], http, proxy …
//	gcs [WHAT]                      see gcs_test.go
//	systemd [-abstract] FILE        see systemd_test.go
func scriptCommands() map[string]command {
	all := map[string]command{
		"exits":     cmdExits,
		"start":     cmdStart,
		"await":     cmdAwait,
		"signal":    cmdSignal,
		"end":       cmdEnd,
		"waitfor":   cmdWaitFor,
		"waitgrep":  cmdWaitGrep,
		"alive":     cmdAlive,
		"gone":      cmdGone,
		"events":    cmdEvents,
		"jsonlines": cmdJSONLines,
		"lines":     cmdLines,
		"need":      cmdNeed,
		"store":     cmdStore,
		"http":      cmdHTTP,
		"proxy":     cmdProxy,
		"systemd":   cmdSystemd,
	}
	maps.Copy(all, serverCommands())
	return all
}

// patience bounds what must happen at some time on a busy machine.
const patience = time.Minute

// A world is everything that one script has started.
type world struct {
	tb    testing.TB
	suite suite
	jobs  map[string]*job

	toldToEnd map[string]bool // the files of jobs that run stay
	servers
}

func newWorld(env *testscript.Env, s suite) *world {
	return &world{tb: env.T().(script), suite: s, jobs: map[string]*job{}, toldToEnd: map[string]bool{}}
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// usage fails a script that uses a command wrongly.
func usage(ts *testscript.TestScript, ok bool, text string) {
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}

// eventually polls until ok returns true.
func eventually(ts *testscript.TestScript, limit time.Duration, what string, ok func() bool) {
	for end := time.Now().Add(limit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// within takes the option -within from a command's arguments.
func within(ts *testscript.TestScript, args []string) (time.Duration, []string) {
	if len(args) < 2 || args[0] != "-within" {
		return patience, args
	}
	d, err := time.ParseDuration(args[1])
	ts.Check(err)
	return d, args[2:]
}

// codeOf returns the exit status as a shell shows it.
func codeOf(st *os.ProcessState) int {
	if ws := st.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}

// diedOf reports whether a process died of the signal of that name, without a core dump.
func diedOf(st *os.ProcessState, name string) bool {
	ws := st.Sys().(syscall.WaitStatus)
	return ws.Signaled() && !ws.CoreDump() && ws.Signal() == unix.SignalNum("SIG"+name)
}

func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	limit, files := within(ts, args)
	usage(ts, !neg && len(files) > 0, "waitfor [-within TIME] FILE...")
	for _, f := range files {
		eventually(ts, limit, f+" is there", func() bool {
			_, err := os.Stat(ts.MkAbs(f))
			return err == nil
		})
	}
}

func cmdWaitGrep(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "waitgrep PATTERN FILE")
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	var text []byte
	defer func() { ts.Logf("[%s]\n%s", args[1], text) }()
	eventually(ts, patience, args[1]+" matches "+args[0], func() bool {
		text, _ = os.ReadFile(ts.MkAbs(args[1]))
		return re.Match(text)
	})
}

func cmdAlive(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) > 0, "[!] alive FILE...")
	for _, f := range args {
		if got := alive(readPID(ts, f)); got == neg {
			ts.Fatalf("the process of %s: alive is %v, want %v", f, got, !neg)
		}
	}
}

func cmdGone(ts *testscript.TestScript, neg bool, args []string) {
	limit, files := within(ts, args)
	usage(ts, !neg && len(files) > 0, "gone [-within TIME] FILE...")
	for _, f := range files {
		pid := readPID(ts, f)
		eventually(ts, limit, "the process of "+f+" is gone", func() bool { return !alive(pid) })
	}
}

func readPID(ts *testscript.TestScript, file string) int {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(file)))
	ts.Check(err)
	if pid <= 1 { // a signal would go to our own group, or to init
		ts.Fatalf("%s has the process id %d", file, pid)
	}
	return pid
}

// alive reports whether a process runs. A zombie does not.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, '('):], []byte(") "))
		return len(state) > 0 && state[0] != 'Z' && state[0] != 'X'
	}
	return unix.Kill(pid, 0) == nil
}

func cmdEvents(ts *testscript.TestScript, neg bool, args []string) {
	var without []string
	if len(args) > 1 && args[0] == "-without" {
		without, args = strings.Split(args[1], ","), args[2:]
	}
	usage(ts, !neg && len(args) > 0, "events [-without KIND,...] FILE KIND...")
	var got []string
	for _, e := range objects(ts, args[0]) {
		if e["v"] != 1.0 {
			ts.Fatalf("an event whose version is not 1: %v", e)
		}
		for _, key := range []string{"time", "event", "lock", "id", "run"} {
			if v, ok := e[key].(string); !ok || v == "" {
				ts.Fatalf("an event without %q: %v", key, e)
			}
		}
		if kind := e["event"].(string); !slices.Contains(without, kind) {
			got = append(got, kind)
		}
	}
	if !slices.Equal(got, args[1:]) {
		ts.Fatalf("%s has the events %v, want %v", args[0], got, args[1:])
	}
}

func cmdJSONLines(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "jsonlines FILE|stderr")
	if len(objects(ts, args[0])) == 0 {
		ts.Fatalf("%s is empty", args[0])
	}
}

// objects reads a file with one JSON object per line.
func objects(ts *testscript.TestScript, file string) []map[string]any {
	var all []map[string]any
	for line := range strings.Lines(ts.ReadFile(file)) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil || !strings.HasSuffix(line, "\n") {
			ts.Fatalf("%s: %q is not a JSON object: %v", file, line, err)
		}
		if key := twice(line); key != "" {
			ts.Fatalf("%s: %q has %s twice", file, line, key)
		}
		all = append(all, o)
	}
	return all
}

// twice returns a key that an object has more than once, or "". encoding/json does not
// report this: it takes the last one.
func twice(object string) string {
	d := json.NewDecoder(strings.NewReader(object))
	_, _ = d.Token() // the brace
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return ""
		}
		name := key.(string)
		if seen[name] {
			return name
		}
		seen[name] = true
	}
	return ""
}

func cmdLines(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "lines N FILE|stderr|stdout")
	if n := strings.Count(ts.ReadFile(args[1]), "\n"); strconv.Itoa(n) != args[0] {
		ts.Fatalf("%s has %d lines, want %s", args[1], n, args[0])
	}
}

func cmdNeed(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "need CONDITION WHAT")
	ok, err := worldOf(ts).suite.condition(args[0])
	ts.Check(err)
	switch {
	case ok:
	case os.Getenv("CI") == "true":
		ts.Fatalf("needs %s", args[1])
	default:
		worldOf(ts).tb.Skipf("needs %s", args[1])
	}
}
