package helper

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/program/threads"
)

// A rogue is a helper that breaks the protocol, or fails, at some point.
type rogue struct {
	in  *bufio.Scanner
	out io.Writer
}

const (
	helloFor = `{"event":"hello","protocol":[1],"scheme":"%s","version":"1"}`
	granted  = `{"token":1,"ttl_ns":15000000000}`
)

func play(role string) int {
	r := &rogue{in: bufio.NewScanner(os.Stdin), out: os.Stdout}
	for _, p := range plots {
		if p.role == role {
			return p.play(r)
		}
	}
	fmt.Fprintln(os.Stderr, "no such role:", role)
	return 1
}

func (r *rogue) say(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

// next waits for a request of the given method, and returns its id.
func (r *rogue) next(method string) string {
	for r.in.Scan() {
		var q request
		if json.Unmarshal(r.in.Bytes(), &q) == nil && q.Method == method {
			return string(q.ID)
		}
	}
	os.Exit(9) // the core is gone
	return ""
}

// well follows the protocol until the given method is requested, and returns the id of
// that request.
func (r *rogue) well(role string, until string) string {
	r.say(helloFor, role)
	methods := []string{methodOpen, methodAcquire, methodRenew, methodRelease}
	if !slices.Contains(methods, until) {
		methods = []string{methodOpen, methodAcquire, until}
	}
	for _, method := range methods {
		id := r.next(method)
		switch {
		case method == until:
			return id
		case method == methodAcquire:
			r.say(`{"id":%s,"result":%s}`, id, granted)
		case method == methodOpen:
			r.say(`{"id":%s,"result":{"can":["inspect","record","ask","list","watch","break","probe","forget"]}}`, id)
		default:
			r.say(`{"id":%s,"result":{}}`, id)
		}
	}
	return ""
}

// dwell waits for the end of the input.
func (r *rogue) dwell() int {
	for r.in.Scan() {
	}
	return 0
}

// says sends the given lines, whatever the core requests.
func says(lines ...string) func(*rogue) int {
	return func(r *rogue) int {
		for _, line := range lines {
			r.say("%s", line)
		}
		return r.dwell()
	}
}

func hello(scheme string) string { return fmt.Sprintf(helloFor, scheme) }

// line sends hello, waits for a method, and sends one line.
func line(role, until, format string) func(*rogue) int {
	return func(r *rogue) int {
		id := r.well(role, until)
		r.say("%s", strings.ReplaceAll(format, "ID", id))
		return r.dwell()
	}
}

// dies follows the protocol until a method, and then dies with a message.
func dies(role, until string) func(*rogue) int {
	return func(r *rogue) int {
		r.well(role, until)
		fmt.Fprintln(os.Stderr, "first words")
		fmt.Fprintln(os.Stderr, "last words")
		return 3
	}
}

// leave exits but leaves a process behind that holds the pipes.
func leave(child *exec.Cmd) int {
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		return 4
	}
	return 3
}

// flood writes 100 MB.
func flood(w io.Writer) {
	text := []byte(strings.Repeat("x", 99) + "\n")
	text = bytes.Repeat(text, 1000)
	for range 1000 {
		if _, err := w.Write(text); err != nil {
			os.Exit(5)
		}
	}
}

// A plot is a rogue and what the core must make of it.
type plot struct {
	role string
	play func(*rogue) int
	at   string // the call that fails, after others that succeed; "" if none fails
	text string // a part of the error
}

var plots = append(deaths(), []plot{
	{"garbage", says("\x00\xff{]"), "acquire", "not a message of the protocol"},
	{"number", says("17"), "acquire", "not a message of the protocol"},
	{"null", says("null"), "acquire", "something other than hello"},
	{"echo", func(r *rogue) int { _, _ = io.Copy(os.Stdout, os.Stdin); return 0 }, "acquire", "not a message of the protocol"},
	{"half", func(r *rogue) int { fmt.Fprint(r.out, `{"event":"hel`); return 0 }, "acquire", "incomplete last line"},
	{"long", func(r *rogue) int {
		r.say(`{"event":"%s"}`, strings.Repeat("x", 10<<20))
		return r.dwell()
	}, "acquire", "longer than 64 KiB"},
	{"endless", func(r *rogue) int {
		for {
			if _, err := fmt.Fprint(r.out, strings.Repeat("x", 4<<10)); err != nil {
				return 1
			}
		}
	}, "acquire", "longer than 64 KiB"},
	{"mute", (*rogue).dwell, "acquire", "did not send hello within"},
	{"unopened", says(hello("unopened")), "acquire", "did not answer open"},
	{"protocol2", says(`{"event":"hello","protocol":[2,3],"scheme":"protocol2"}`), "acquire", "does not speak protocol 1"},
	{"stranger", says(hello("other")), "acquire", "another scheme"},
	{"nohello", says(`{"id":1,"result":{}}`), "acquire", "something other than hello"},
	{"twohellos", says(hello("twohellos"), hello("twohellos")), "acquire", "a second hello"},
	{"newevent", line("newevent", methodAcquire, `{"event":"surprise"}`), "acquire", "unknown event"},
	{"stray", line("stray", methodAcquire, `{"id":99,"result":{}}`), "acquire", "to no request"},
	{"stringid", line("stringid", methodAcquire, `{"id":"ID","result":`+granted+`}`), "acquire", "to no request"},
	{"noid", line("noid", methodAcquire, `{"result":`+granted+`}`), "acquire", "to no request"},
	{"empty", line("empty", methodAcquire, `{"id":ID}`), "acquire", "either a result or an error"},
	{"both", line("both", methodAcquire, `{"id":ID,"result":`+granted+`,"error":{"message":"m"}}`), "acquire", "either a result or an error"},
	{"twice", line("twice", methodAcquire, `{"id":ID,"error":{"class":"held"}}`+"\n"+`{"id":ID,"result":`+granted+`}`), "renew", "to no request"},
	{"early", func(r *rogue) int {
		r.say(helloFor, "early")
		r.next(methodOpen)
		r.say(`{"id":%s,"result":%s}`, r.next(methodAcquire), granted)
		return r.dwell()
	}, "acquire", "before open"},
	{"straygrant", line("straygrant", methodAcquire, `{"id":ID,"result":`+granted+`}`+"\n"+`{"id":99,"result":{}}`), "renew", "to no request"},
	{"tokenless", line("tokenless", methodAcquire, `{"id":ID,"result":{"ttl_ns":1}}`), "acquire", "without a token"},
	{"negtoken", line("negtoken", methodAcquire, `{"id":ID,"result":{"token":-1}}`), "acquire", "not a message"},
	{"hugetoken", line("hugetoken", methodAcquire, `{"id":ID,"result":{"token":18446744073709551616}}`), "acquire", "not a message"},
	{"negttl", line("negttl", methodAcquire, `{"id":ID,"result":{"token":1,"ttl_ns":-1}}`), "acquire", "out of range"},
	{"hugettl", line("hugettl", methodAcquire, `{"id":ID,"result":{"token":1,"ttl_ns":9223372036854775807}}`), "acquire", "out of range"},
	{"badstatus", line("badstatus", methodAcquire, `{"id":ID,"error":{"class":"held","status":{"pid":-1}}}`), "acquire", "an invalid status"},
	{"badsince", line("badsince", methodAcquire, `{"id":ID,"error":{"class":"held","status":{"since":"never"}}}`), "acquire", "not a message"},
	{"badwaiting", line("badwaiting", methodAcquire, `{"event":"waiting","id":ID,"waiting":{"lease_ns":-1}}`), "wait", "invalid details"},
	{"longplace", line("longplace", methodAcquire, `{"event":"waiting","id":ID,"waiting":{},"place":"`+strings.Repeat("x", locks.MaxRecord+1)+`"}`), "wait", "too long"},
	{"nowaiting", line("nowaiting", methodAcquire, `{"event":"waiting","id":ID}`), "wait", "invalid details"},
	{"idlewaiting", line("idlewaiting", methodRenew, `{"event":"waiting","id":ID,"waiting":{}}`), "renew", "not requested"},
	{"earlylost", line("earlylost", methodAcquire, `{"event":"lost","error":{"class":"lost"}}`), "acquire", "was not granted"},
	{"barelost", line("barelost", methodRenew, `{"event":"lost"}`), "renew", "without an error"},
	{"can", func(r *rogue) int {
		r.say(helloFor, "can")
		r.say(`{"id":%s,"result":{"can":[%s"x"]}}`, r.next(methodOpen), strings.Repeat(`"x",`, 64))
		return r.dwell()
	}, "acquire", "64 abilities"},
	{"cannumber", func(r *rogue) int {
		r.say(helloFor, "cannumber")
		r.say(`{"id":%s,"result":{"can":[7]}}`, r.next(methodOpen))
		return r.dwell()
	}, "acquire", "not a message"},
	{"stateless", line("stateless", methodInspect, `{"id":ID,"result":{}}`), "inspect", "without a state"},
	{"badstate", line("badstate", methodInspect, `{"id":ID,"result":{"state":{"waiters":-1}}}`), "inspect", "an invalid state"},
	{"badplace", line("badplace", methodInspect, `{"id":ID,"result":{"state":{"queue":[{"priority":1001}]}}}`), "inspect", "priority out of range"},
	{"longqueue", line("longqueue", methodInspect, `{"id":ID,"result":{"state":{"queue":[`+strings.Repeat(`{},`, 64)+`{}]}}}`), "inspect", "too many places"},
	{"longrecord", line("longrecord", methodRecord, `{"id":ID,"result":{"record":"`+strings.Repeat("x", locks.MaxRecord+1)+`"}}`), "record", "record that is too long"},
	{"badrecord", line("badrecord", methodRecord, `{"id":ID,"result":{"record":{}}}`), "record", "not a message"},
	{"earlyasked", line("earlyasked", methodAcquire, `{"event":"asked","text":"x"}`), "acquire", "was not granted"},
	{"bareasked", line("bareasked", methodRenew, `{"event":"asked"}`), "renew", "missing or too long"},
	{"longasked", line("longasked", methodRenew, `{"event":"asked","text":"`+strings.Repeat("x", locks.MaxRecord+1)+`"}`), "renew", "missing or too long"},
	{"longpage", line("longpage", methodList, `{"id":ID,"result":{"page":[`+strings.Repeat(`{"name":"n"},`, 64)+`{"name":"n"}]}}`), "list", "too many locks"},
	{"longpages", line("longpages", methodList, `{"event":"listed","id":ID,"page":[`+strings.Repeat(`{"name":"n"},`, 63)+`{"name":"n"}]}`+"\n"+`{"id":ID,"result":{"page":[{"name":"n"}]}}`), "list", "too many locks"},
	{"badname", line("badname", methodList, `{"id":ID,"result":{"page":[{"name":"../n"}]}}`), "list", "an invalid lock name"},
	{"badlisted", line("badlisted", methodList, `{"event":"listed","id":ID,"page":[{"name":"n","status":{"pid":-1}}]}`), "list", "an invalid status"},
	{"badstart", line("badstart", methodList, `{"id":ID,"result":{"page":[{"name":"n","status":{"start":"sideways"}}]}}`), "list", "an invalid status"},
	{"listedrecord", line("listedrecord", methodList, `{"id":ID,"result":{"page":[{"name":"n","record":"`+strings.Repeat("x", locks.MaxRecord+1)+`"}]}}`), "list", "a record that is too long"},
	{"longcursor", line("longcursor", methodList, `{"id":ID,"result":{"next":"`+strings.Repeat("x", locks.MaxCursor+1)+`"}}`), "list", "cursor that is too long"},
	{"straylisted", line("straylisted", methodRenew, `{"event":"listed","id":ID}`), "renew", "not requested"},
	{"straychanged", line("straychanged", methodRenew, `{"event":"changed","id":ID}`), "renew", "not watched"},
	{"barechanged", line("barechanged", methodWatch, `{"event":"changed"}`), "watch", "not watched"},
	{"unbegun", line("unbegun", methodWatch, `{"id":ID,"result":{}}`), "watch", "has not begun"},
	{"serverless", line("serverless", methodProbe, `{"id":ID,"result":{}}`), "probe", "without servers"},
	{"manyservers", line("manyservers", methodProbe, `{"id":ID,"result":{"servers":{"servers":[`+strings.Repeat(`{},`, 32)+`{}]}}}`), "probe", "too many servers"},
	{"manyfindings", line("manyfindings", methodProbe, `{"id":ID,"result":{"servers":{"findings":[`+strings.Repeat(`{"level":"ok"},`, 32)+`{}]}}}`), "probe", "too many findings"},
	{"badrtt", line("badrtt", methodProbe, `{"id":ID,"result":{"servers":{"servers":[{"rtt_ns":-1}]}}}`), "probe", "an invalid server"},
	{"badclass", line("badclass", methodProbe, `{"id":ID,"result":{"servers":{"servers":[{"class":"lost"}]}}}`), "probe", "an invalid server"},
	{"badlevel", line("badlevel", methodProbe, `{"id":ID,"result":{"servers":{"findings":[{"level":"fine"}]}}}`), "probe", "invalid level"},
	{"dies-watched", func(r *rogue) int {
		r.say(`%s`, strings.ReplaceAll(`{"event":"changed","id":ID}`, "ID", r.well("dies-watched", methodWatch)))
		return 3
	}, "", ""},
	{"restless", func(r *rogue) int { // reports changes as fast as it can
		id := r.well("restless", methodWatch)
		for range 100_000 {
			r.say(`{"event":"changed","id":%s}`, id)
		}
		return r.dwell()
	}, "", ""},
	{"tenacious", func(r *rogue) int { // continues to watch after a cancel
		id := r.well("tenacious", methodWatch)
		r.say(`{"event":"changed","id":%s}`, id)
		renew := r.next(methodRenew) // the cancel may come before or after it
		r.say(`{"event":"changed","id":%s}`, id)
		r.say(`{"id":%s,"result":{}}`, renew)
		return r.dwell()
	}, "", ""},
	{"secrets", func(r *rogue) int {
		r.say(helloFor, "secrets")
		r.say(`{"id":%s,"result":{"secret_env":["A=B"]}}`, r.next(methodOpen))
		return r.dwell()
	}, "acquire", "secret variable"},
	{"dies-first", func(r *rogue) int { fmt.Fprintln(os.Stderr, "last words"); return 3 }, "acquire", "leaderrun-dies-first ended (exit status 3): last words"},
	{"no-threads", func(*rogue) int {
		fmt.Fprint(os.Stderr, "runtime: failed to create new OS thread (have 4 already; errno=11)\nfatal error: newosproc\n")
		return 2
	}, "acquire", threads.ErrOut.Error() + ": leaderrun-no-threads ended (exit status 2): runtime: failed"},
	{"dies-hello", dies("dies-hello", methodOpen), "acquire", "(exit status 3): last words"},
	{"dies-opened", func(r *rogue) int {
		r.say(helloFor, "dies-opened")
		r.say(`{"id":%s,"result":{}}`, r.next(methodOpen))
		return 3
	}, "acquire", "(exit status 3)"},
	{"crash", func(r *rogue) int { r.well("crash", methodRenew); panic("it broke") }, "renew", "(exit status 2): panic: it broke"},
	{"closes", func(r *rogue) int {
		r.well("closes", methodRenew)
		os.Stdout.Close()
		time.Sleep(time.Minute)
		return 0
	}, "renew", "closed its output, but did not end"},
	{"leaves-child", func(r *rogue) int {
		r.well("leaves-child", methodRenew)
		return leave(exec.Command("sleep", "60"))
	}, "renew", "(exit status 3)"},
	{"leaves-daemon", func(r *rogue) int { // the daemon cannot be found
		r.well("leaves-daemon", methodRenew)
		daemon := exec.Command("sleep", "40")
		detach(daemon)
		return leave(daemon)
	}, "renew", "(exit status 3)"},
	{"late", func(r *rogue) int {
		id := r.well("late", methodRenew)
		r.next(methodCancel)
		r.say(`{"id":%s,"error":{"class":"lost","message":"it is gone"}}`, id)
		return r.dwell()
	}, "", ""},
	{"flood", func(r *rogue) int {
		id := r.well("flood", methodAcquire)
		flood(os.Stderr)
		r.say(`{"id":%s,"result":%s}`, id, granted)
		return r.dwell()
	}, "", ""},
	{"floods-on", func(r *rogue) int {
		r.well("floods-on", methodRenew)
		for {
			flood(os.Stderr)
		}
	}, "", ""},
	{"chatty", func(r *rogue) int { // reports that it waits, as fast as it can
		id := r.well("chatty", methodAcquire)
		for i := range 100_000 {
			r.say(`{"event":"waiting","id":%s,"waiting":{"status":{"held":true},"position":%d}}`, id, 100_000-i)
		}
		r.say(`{"id":%s,"result":%s}`, id, granted)
		return r.dwell()
	}, "", ""},
	{"stops", func(r *rogue) int { r.well("stops", methodRenew); stopMyself(); return r.dwell() }, "", ""},
	{"silent", func(r *rogue) int { // reads, and never answers a renewal
		r.well("silent", methodRenew)
		return r.dwell()
	}, "", ""},
	{"blab", func(r *rogue) int {
		r.say(helloFor, "blab")
		const all = "sword/fish sword%2Ffish"
		fmt.Fprintln(os.Stderr, all)
		r.say(`{"id":%s,"error":{"class":"denied","op":"open","backend":"blab://%[2]s","message":"%[2]s","hint":"%[2]s"}}`, r.next(methodOpen), all)
		return r.dwell()
	}, "", ""},
	{"stops-first", func(r *rogue) int { stopMyself(); return 0 }, "acquire", "did not send hello within"},
}...)

// deaths returns plots that end at each of the methods.
func deaths() (all []plot) {
	for _, m := range methods() {
		if m.name == methodOpen {
			continue // a plot above
		}
		role := "dies-" + strings.ReplaceAll(m.name, "_", "-")
		all = append(all, plot{role, dies(role, m.name), m.name, "(exit status 3): last words"})
	}
	return all
}

// TestRogues runs each plot. Each must end in bounded time as an unavailable backend, and
// leave nothing behind.
func TestRogues(t *testing.T) {
	t.Parallel()
	for _, p := range plots {
		if p.at == "" {
			continue // it has its own test
		}
		t.Run(p.role, func(t *testing.T) {
			t.Parallel()
			o := options()
			switch {
			case strings.Contains(p.text, "within"):
				o.ConnectTimeout = 100 * time.Millisecond
			case p.role == "unopened":
				o.ConnectTimeout = time.Second
			}
			l := start(t, p.role+"://user:swordfish@h/", o)
			begun := time.Now()
			err := p.run(t, l)
			if took := time.Since(begun); took > 2*limit {
				t.Errorf("it took %v", took)
			}
			checkClass(t, p.at, err, locks.ErrUnavailable)
			if err != nil && (!strings.Contains(err.Error(), p.text) || strings.Contains(err.Error(), "swordfish")) {
				t.Errorf("got error %q; want one with %q, and no password", err, p.text)
			}
			checkNotLost(t, l)
		})
	}
}

// TestBrokenAfterGrant breaks the protocol right after the grant. The guard of the job, which
// is starting meanwhile, must still be given the helper's input: the next renewal tells what
// has happened.
func TestBrokenAfterGrant(t *testing.T) {
	t.Parallel()
	l := start(t, "straygrant://h/", options())
	if _, err := l.Acquire(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	drive.Eventually(t, limit, "the session has ended", func() bool { return isClosed(l.last().gone) })
	input, _ := l.ReleaseMessage()
	if _, err := input.Stat(); err != nil {
		t.Errorf("the input cannot be passed on: %v", err)
	}
	if err := l.Renew(t.Context()); err == nil || !strings.Contains(err.Error(), "to no request") {
		t.Errorf("renew: %v", err)
	}
	_ = l.Close()
	if _, err := input.Stat(); err == nil {
		t.Error("the input is still open")
	}
}

// run makes the calls up to the one that fails.
func (p plot) run(t *testing.T, l *Lock) error {
	t.Helper()
	ctx := within(t, 2*limit)
	for _, c := range calls(l, p.at != "wait") {
		if c.name != p.at && !slices.Contains([]string{methodAcquire, methodRenew, methodRelease}, c.name) {
			continue
		}
		err := c.call(ctx)
		if c.name == p.at || p.at == "wait" {
			return err
		}
		if err != nil && p.role != "twice" {
			t.Fatalf("%s: %v", c.name, err)
		}
	}
	t.Fatalf("no call %q", p.at)
	return nil
}
