package options

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/cmd/output"
)

// TestParseConfigRefuses has each error that a config file can have, with its line.
func TestParseConfigRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"ttl: 1s\ntll: 2s\n", `f:2: unknown key "tll" (did you mean "ttl"?)`},
		{"jbos:\n", `f:1: unknown key "jbos" (did you mean "jobs"?)`},
		{"command: x\n", `f:1: unknown key "command"`},
		{"help: true\n", `f:1: unknown key "help"`},
		{"config: x\n", `f:1: unknown key "config"`},
		{"job: x\n", `f:1: unknown key "job"`},
		{"TTL: 1s\n", `f:1: unknown key "TTL"`},
		{"jobs:\n  a:\n    ttl: 1s\n    comand: x\n", `f:4: unknown key "comand" (did you mean "command"?)`},
		{"jobs:\n  a:\n    jobs: {}\n", `f:3: unknown key "jobs"`},
		{"ttl: 1s\nttl: 2s\n", `f:2: mapping key "ttl" already defined at [1:1]`},
		{"ttl: 1s\n\"ttl\": 2s\n", `f:2: mapping key "ttl" already defined`},
		{"{ttl: 1s, 'ttl': 2s}\n", `f:1: mapping key "ttl" already defined`},
		{"jobs:\n  1: {}\n  '1': {}\n", `f:3: mapping key "1" already defined`},
		{"jobs:\n  a b: {}\n  \"a b\" : {}\n", `f:3: mapping key "a b" already defined`},
		{"jobs:\n  a.b: {}\n  a.b: {}\n", `f:3: mapping key "a.b" already defined`},
		{"jobs:\n  a: {}\n  b: {}\n  a: {}\n", `f:4: mapping key "a" already defined`},
		{"ttl: [1s]\n", "f:1: ttl must be one value, not a list or a section"},
		{"ttl:\n  a: 1\n", "ttl must be one value, not a list or a section"},
		{"ttl:\n", "f:1: ttl has no value"},
		{"a: 1\nlock: ''\n", `f:1: unknown key "a"`},
		{"lock: ''\n", "f:1: lock has no value"},
		{"lock: ~\n", "f:1: lock has no value"},
		{"lock: \"a\\0b\"\n", "f:1: lock contains a NUL byte"},
		{"lock: &x a\n", "f:1: lock: anchors, aliases and tags are not supported"},
		{"lock: *x\n", "f:1: "},
		{"ttl: !!str 5\n", "f:1: ttl: anchors, aliases and tags"},
		{"<<: {ttl: 1s}\n", "f:1: a key must be a plain word; merge keys, anchors"},
		{"- a\n", "f:1: a config file must have lines like key: value"},
		{"hello\n", "f:1: a config file must have lines like key: value"},
		{"jobs: x\n", "f:1: jobs must have lines like key: value"},
		{"jobs:\n  a: x\n", `f:2: job "a" must have lines like key: value`},
		{"ttl: 1s\n---\nttl: 2s\n", "a config file must be one document"},
		{"ttl: 1s\n  b: 2\n", "f:1: "},
		{"ttl:\n\tb: 2\n", "f:2: "},
		{"lock: \"x\n", "f:1: could not find end character of double-quoted text"},
		{"ttl: 1s\nlock: " + strings.Repeat("[", maxConfig-20), "f:2: it is nested too deeply"},
		{"ttl: 1s\nlock: " + strings.Repeat("{a: ", 201), "f:2: it is nested too deeply"},
		{"jobs: {a: {command: []}}\n", "f:1: command names no program"},
		{"jobs: {a: {command: ['', x]}}\n", "f:1: command names no program"},
		{"jobs: {a: {command: [x, [y]]}}\n", "f:1: command must be one value, not a list or a section"},
		{"jobs:\n  a:\n    command: a | b\n", "f:3: command: the characters ; & | < > need a shell, or quotes around them"},
		{"jobs:\n  a:\n    command: a > b\n", "f:3: command: the characters"},
		{"jobs:\n  a:\n    command: a 'b\n", "f:3: command: a quote is not closed, or a parenthesis needs a shell"},
		{"jobs:\n  a:\n    command: (a)\n", "f:3: command: a quote is not closed, or a parenthesis needs a shell"},
		{"jobs:\n  a:\n    command: a `b`\n", "f:3: command: command substitution needs a shell"},
	} {
		_, err := parseConfig("f", []byte(tt.text))
		var bad *fileError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q:\ngot  %v\nwant an error with %s", tt.text, err, tt.want)
		}
		if status := output.Status(err); status != output.ExitConfig {
			t.Errorf("%q: exit status %d", tt.text, status)
		}
	}
}

// TestParseConfig reads values in all the ways in which YAML can write them.
func TestParseConfig(t *testing.T) {
	t.Parallel()
	c, err := parseConfig("f", []byte("# comment\nttl: 30 # more\nwait: 1.50\nnonblock: true\r\nlock: \"a\\tb\"\nid: 'it''s'\nevents: |\n  /x/y\nsignal:\n  TERM\nverbose: 0x1\njobs:\n  j: {ttl: 5, command: 'a \"b c\" \\d \"\" e=$f'}\n  7:\n    command: [a, 1, \"\", 'b c']\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]rawValue{
		"ttl": {"30", 2}, "wait": {"1.50", 3}, "nonblock": {"true", 4}, "lock": {"a\tb", 5}, "id": {"it's", 6},
		"events": {"/x/y", 7}, "signal": {"TERM", 9}, "verbose": {"0x1", 11},
	} {
		if got := c.top.options[name]; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if got, want := c.jobs["j"].command.words, []string{"a", "b c", "d", "", "e=$f"}; !slices.Equal(got, want) {
		t.Errorf("a command as text: got %q, want %q", got, want)
	}
	if got, want := c.jobs["7"].command.words, []string{"a", "1", "", "b c"}; !slices.Equal(got, want) {
		t.Errorf("a command as list: got %q, want %q", got, want)
	}
	for _, empty := range []string{"", "\n", "# x\n", "---\n", "jobs:\n", "jobs: {}\n", "jobs:\n  a:\n"} {
		if _, err := parseConfig("f", []byte(empty)); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// TestExpand checks what a "$" means.
func TestExpand(t *testing.T) {
	t.Setenv("SET", "a: [b] ${X} $$")
	t.Setenv("EMPTY", "")
	for _, tt := range []struct{ text, want, err string }{
		{"x", "x", ""},
		{"<${SET}>", "<a: [b] ${X} $$>", ""}, // once, and no YAML
		{"${EMPTY}", "", ""},
		{"${EMPTY:-x y}", "x y", ""},
		{"${UNSET_X:-}", "", ""},
		{"${SET:-x}", "a: [b] ${X} $$", ""},
		{"$$ $${SET} $HOME $(x) $", "$ ${SET} $HOME $(x) $", ""},
		{"${UNSET_X}", "", "the environment variable UNSET_X is not set"},
		{"${SET", "", "has no closing }"},
		{"${}", "", "is neither ${NAME} nor ${NAME:-default}"},
		{"${SET%x}", "", `"${SET%x}" is neither`},
		{"${1A}", "", "is neither"},
	} {
		got, err := expand(tt.text)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: got %q, %v; want %q, %q", tt.text, got, err, tt.want, tt.err)
		}
	}
}

// TestEveryOptionIsAKey: all options of run are keys, except those that replace the command,
// those that choose the file and the job, and --command, which has another meaning there.
func TestEveryOptionIsAKey(t *testing.T) {
	t.Parallel()
	not := []string{HelpName, HelpAllName, VersionName, "config", "job", commandKey}
	for _, o := range NewValues().Table() {
		_, err := parseConfig("f", []byte(o.Name+": x\n"))
		if isKey := err == nil; isKey == slices.Contains(not, o.Name) {
			t.Errorf("--%s as a key: %v", o.Name, err)
		}
	}
}

// FuzzParseConfig: any file gives either a config or a fileError.
func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("ttl: 1s\njobs:\n  a: {command: 'x \"y\"', wait: 5}\n  b:\n    command: [a, b]\n"))
	f.Add([]byte("lock: |\n  x\n<<: *a\n? [a]\n: &b !!str c\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseConfig("f", text)
		if err != nil && !errors.As(err, new(*fileError)) {
			t.Fatal(err)
		}
		if err == nil && (c == nil || len(c.top.options) > len(keys())) {
			t.Fatalf("got %+v", c)
		}
	})
}
