package complete

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/locks"
)

// TestCompletionOfLocks: names that no lock can have are left out, and slots are completed
// only for subcommands that look at locks.
func TestCompletionOfLocks(t *testing.T) {
	t.Parallel()
	s := &fakeStore{pages: [][]locks.Listed{
		{{Name: "jobs#2"}, {Name: "jobs#0"}, {Name: "a:b/c@d", Status: locks.Status{Held: true, Holder: "x\ny"}}},
		nil,
		{{Name: "$(reboot)"}, {Name: "abc"}},
	}}
	const none = "--config " + os.DevNull + " "
	for _, tt := range []struct{ line, words string }{
		{none + "-l ", "a:b/c@d abc jobs"},
		{none + "--lock=a:", "a:b/c@d"},
		{none + "doctor -l j", "jobs"},
		{none + "status -l j", "jobs jobs#2"},
		{none + "resign --lock a", "a:b/c@d abc"},
		{none + "forget ", "a:b/c@d abc jobs jobs#2"},
		{none + "forget abc --yes jobs#2 ", "a:b/c@d jobs"},
		{none + "forget -- abc a", "a:b/c@d"},
		{none + "-b elsewhere -l ", ""},
		{none + "-b :// -l ", ""},
		{"--config /nowhere -l ", ""},
	} {
		s.closed = false
		if _, words := newProgram(s).answer(t, tt.line); words != tt.words {
			t.Errorf("leaderrun %s: got %q, want %q", tt.line, words, tt.words)
		}
		if tt.words != "" && !s.closed {
			t.Errorf("leaderrun %s: the backend was not closed", tt.line)
		}
	}
	text := complete(t.Context(), newProgram(s).Env, newProgram(s).commands(), strings.Fields(none+"-l"), "a:").String()
	if want := "words \na:b/c@d\theld by x\\ny\n"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

// TestCompletionFromConfig: jobs and the backend come from the config file, if it can be
// trusted.
func TestCompletionFromConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "backend: elsewhere\njobs:\n  nightly: {backend: shelf}\n  hourly: {}\n  \"no\\tline\": {}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newProgram(&fakeStore{pages: [][]locks.Listed{{{Name: "a"}}}})
	check := func(args, want string) {
		t.Helper()
		if _, words := p.answer(t, "--config "+file+" "+args); words != want {
			t.Errorf("%s: got %q, want %q", args, words, want)
		}
	}
	check("--job ", "hourly nightly")
	check("--job=n", "nightly")
	check("-l ", "")
	check("--job nightly -l ", "a")
	check("-b shelf -l ", "a")
	check("-b shelf status -l ", "a")
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	check("--job ", "")
	check("-b shelf -l ", "")
}

// freeText lists the options whose values cannot be completed.
var freeText = []string{"id", "slots", "wait", "conflict-exit-code", "connect-timeout", "command", "ttl", "kill-after", "splay",
	"min-hold", "max-runtime", "restart-delay", "restart-max-delay", "give-up-after", "priority",
	"health-interval", "health-retries", "health-start-period", "hook-timeout", "metrics-listen",
	"interval", "reason", "timeout", "cursor", "advertise", "if-token"}

// TestEveryValueIsCompleted fails for a new option whose values are not completed.
func TestEveryValueIsCompleted(t *testing.T) {
	t.Parallel()
	p := newProgram(&fakeStore{pages: [][]locks.Listed{{{Name: "a"}}}})
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("jobs: {a: {}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range p.commands() {
		for _, o := range c.Options() {
			free := slices.Contains(freeText, o.Name) || c.Name == "check" && o.Name == "for"
			if !o.TakesValue() {
				continue
			}
			line, err := options.ReadPart([]string{"--config", file, c.Name}, p.commands())
			if err != nil {
				t.Fatal(err)
			}
			typed := &typed{env: p.Env, Line: line, before: []string{"--" + o.Name}}
			got := typed.value(t.Context(), &o, "", "")
			if empty := got.kind == "words" && len(got.words) == 0; empty != free {
				t.Errorf("leaderrun %s --%s: is there nothing to complete? %v", c.Name, o.Name, empty)
			}
		}
	}
}

func TestUnquoteWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		`plain`: `plain`, `'a b'`: `a b`, `"a b"`: `a b`, `a\ b`: `a b`, `"a\"b"`: `a"b`, `"a\b"`: `a\b`, `'a\'`: `a\`,
		`'open`: `open`, `"open`: `open`, `end\`: `end`, `a'b'"c"d`: `abcd`, `\\`: `\`, `"'"`: `'`, `'"'`: `"`,
		`$HOME`: `$HOME`, `"\$x"`: `$x`, `\'a`: `'a`, ``: ``,
	} {
		if got := unquoteWord(word); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}
