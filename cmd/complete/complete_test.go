package complete

import (
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/cmd/doctor"
	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/operate"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/run"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/helper"
)

// A fakeStore is a backend that lists locks, or does not respond.
type fakeStore struct {
	locks.Lock
	pages  [][]locks.Listed
	silent chan struct{} // if not nil, List waits for it, and ignores its context
	closed bool
}

func (s *fakeStore) Abilities(context.Context) ([]locks.Ability, error) {
	return []locks.Ability{locks.CanList}, nil
}

func (s *fakeStore) List(_ context.Context, cursor string) ([]locks.Listed, string, error) {
	if s.silent != nil {
		<-s.silent
	}
	i := len(cursor)
	if i == len(s.pages)-1 {
		return s.pages[i], "", nil
	}
	return s.pages[i], cursor + "x", nil
}

func (s *fakeStore) Close() error {
	s.closed = true
	return nil
}

// A program is leaderrun with such a backend, as "shelf" and as the default.
type program struct{ *env.Env }

func newProgram(s *fakeStore) program {
	p := program{&env.Env{Registry: new(locks.Registry), Programs: new(helper.Programs), Out: io.Discard, Console: output.NewConsole(io.Discard)}}
	open := func(context.Context, *url.URL, locks.Options) (locks.Lock, error) { return s, nil }
	p.Registry.Register("shelf", open)
	p.Registry.Register("file", open)
	return p
}

// commands returns the program's subcommands.
func (p program) commands() []*options.Command {
	return slices.Concat([]*options.Command{run.Command(p.Env)}, operate.Commands(p.Env), []*options.Command{
		doctor.Command(p.Env), {Name: "config", Args: "show", Early: 1, Define: p.plain}, {Name: "backends", Define: p.plain}, Command(p.Env),
		{Name: "version", Define: p.plain}, {Name: "help", Define: p.plain},
	})
}

func (p program) plain() ([]options.Option, func(*options.Invocation) error) { return nil, nil }

// answer completes the last word of a line, which begins after "leaderrun ". It returns the
// first line of the answer, and the words.
func (p program) answer(t *testing.T, line string) (head, words string) {
	typed := strings.Split(line, " ")
	last := len(typed) - 1
	text := complete(t.Context(), p.Env, p.commands(), typed[:last], typed[last]).String()
	if text == "" {
		return "", ""
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i], _, _ = strings.Cut(lines[i], "\t")
	}
	return lines[0], strings.Join(lines[1:], " ")
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	const subcommands = "run status watch wait check resign release forget doctor config backends completion version help"
	dir := t.TempDir()
	for _, name := range []string{"a b", "ab", ".ac", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ line, head, words string }{
		// Subcommands, or a command.
		{"", "words ", subcommands},
		{"re", "command 0", "resign release"},
		{"sleep", "command 0", ""},
		{"run ", "command 1", ""},
		{"run re", "command 1", ""},
		{"-n -l x ", "words ", subcommands},
		{"-n -l x re", "command 3", "resign release"},
		{"-- ", "command 1", ""},
		{"-l x -- re", "command 3", ""},
		{"-- git -", "command 1", ""},
		{"git -- --lo", "command 0", ""},
		{"-n git comm", "command 1", ""},
		{"run git -", "command 1", ""},
		{"help re", "words ", "resign release"},
		{"completion ", "words ", "bash zsh fish"},
		{"config ", "words ", "show"},
		{"config show ", "command 2", ""},
		{"config show -- gi", "command 3", ""},

		// Nothing more can follow.
		{"help run ", "", ""},
		{"version now", "", ""},
		{"status -- ", "", ""},
		{"config hide ", "", ""},

		// Options, once each, unless they count.
		{"--lo", "words ", "--lock --log-format --log-file"},
		{"--lock x --lo", "words ", "--log-format --log-file"},
		{"-l x --lo", "words ", "--log-format --log-file"},
		{"--lock=x --lo", "words ", "--log-format --log-file"},
		{"-v --verb", "words ", "--verbose"},
		{"-n", "words ", "-n"},
		{"-nv", "words ", "-nv"},
		{"-nX", "", ""},
		{"check ", "words ", "--for --help"},
		{"check -", "words ", "--for --help -h"},
		{"check --for 3 ", "words ", "--help"},
		{"help --mi", "words ", ""},
		{"completion --cu", "words ", ""},
		{"--unknown --lo", "", ""},

		// Values, apart and joined.
		{"--takeover ", "words ", "fast strict"},
		{"--takeover=", "words --takeover=", "fast strict"},
		{"--takeover=s", "words --takeover=", "strict"},
		{"--restart o", "words ", "on-failure"},
		{"--log-format j", "words ", "json"},
		{"--containment p", "words ", "pgroup pidns"},
		{"--nonblock=t", "words --nonblock=", "true"},
		{"wait --for ", "words ", "free held change"},
		{"status -o", "words ", "-o"},
		{"status -o ", "words ", "table wide json"},
		{"watch -o l", "words ", "lines"},
		{"doctor --output=", "words --output=", "text json"},
		{"--once-per d", "words ", "day"},
		{"-s TER", "words ", "TERM"},
		{"-s SIGTER", "words ", "SIGTERM"},
		{"-sTER", "words -s", "TERM"},
		{"-nsTER", "words -ns", "TERM"},
		{"--unknown=", "", ""},

		// Files, directories, commands.
		{"--config ", "files ", ""},
		{"--config=/e", "files --config=", ""},
		{"status --config /e", "files ", ""},
		{"--log-file ", "files ", ""},
		{"--on-lost ma", "command 1", ""},
		{"--on-lost=ma", "", ""},
		{"-b file:/", "words ", "file://"},
		{"-b file://", "words ", "file:///"},
		{"-b file://" + dir + "/a", "words ", "file://" + dir + "/a%20b/ file://" + dir + "/ab/"},
		{"-b file://" + dir + "/.", "words ", "file://" + dir + "/.ac/"},
		{"-b file://" + dir + "/%61", "words ", ""},

		// Free text.
		{"--id ", "words ", ""},
		{"-w ", "words ", ""},
		{"-c ec", "words ", ""},

		// Backends.
		{"-b ", "words ", "file file:// shelf shelf://"},
		{"--backend=sh", "words --backend=", "shelf shelf://"},
		{"-b shelf://h", "words ", ""},
		{"-b shelf://h?t", "words ", ""},
		{"-b etcd://h/p?", "words ", "etcd://h/p?cacert= etcd://h/p?cert= etcd://h/p?key= etcd://h/p?password-file= etcd://h/p?servername= etcd://h/p?tls=true etcd://h/p?tls=false"},
		{"-b zk:?mode=", "words ", "zk:?mode=fair zk:?mode=unfair"},
		{"-b zk://h?mode=fair&tls=t", "words ", "zk://h?mode=fair&tls=true"},
		{"-b zk://h?mode=fair&m", "words ", ""},
		{"-b file:///d?", "words ", "file:///d?fs=any"},
	} {
		head, words := newProgram(new(fakeStore)).answer(t, tt.line)
		if head != tt.head || words != tt.words {
			t.Errorf("leaderrun %s:\n got %q %q\nwant %q %q", tt.line, head, words, tt.head, tt.words)
		}
	}
}

// TestCompletionEnds: completion gives up on a backend that does not respond.
func TestCompletionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{silent: make(chan struct{}), pages: make([][]locks.Listed, 1)}
		p := newProgram(s)
		var out strings.Builder
		p.Out = &out
		start := time.Now()
		err := answer(p.Env, p.commands(), []string{"--config", os.DevNull, "-l"}, "")
		if got := time.Since(start); err != nil || out.String() != "" || got > completionLimit {
			t.Errorf("got %q, %v after %v; want nothing within %v", out.String(), err, got, completionLimit)
		}
		close(s.silent)
	})
}

// TestCompletionKeepsPasswords: a password on the line is not printed.
func TestCompletionKeepsPasswords(t *testing.T) {
	t.Parallel()
	const secret = "shelf://me:secret@h/"
	p := newProgram(&fakeStore{pages: make([][]locks.Listed, 1)})
	for _, words := range [][]string{{"-b", "etcd://me:secret@h?"}, {"-b", "etcd://me:secret?"}, {"-b", secret, ""}, {"-b", secret, "--l"}, {"-b", secret, "-l", ""}, {"-b", secret},
		{"-b" + secret}, {"--backend=" + secret}, {"-b", secret, "--", ""}, {"-nb" + secret}, {secret}} {
		last := len(words) - 1
		if text := complete(t.Context(), p.Env, p.commands(), words[:last], words[last]).String(); strings.Contains(text, "secret") {
			t.Errorf("%q: got %q", words, text)
		}
	}
}

// FuzzCompletion: for any line the answer has the right form, and refers to a word that
// exists.
func FuzzCompletion(f *testing.F) {
	for _, seed := range []string{"--lo", "-nl\x00x\x00--\x00git\x00", "-b\x00file:///", "--lock=a", "config\x00show\x00", "-\xff", "--=\x00", "-b\x00shelf://a:b@c\x00-l\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		words := strings.Split(joined, "\x00")
		last := len(words) - 1
		p := newProgram(&fakeStore{pages: [][]locks.Listed{{{Name: "a"}}}})
		text := complete(t.Context(), p.Env, p.commands(), words[:last], words[last]).String()
		if text == "" {
			return
		}
		first, rest, ended := strings.Cut(text, "\n")
		kind, what, _ := strings.Cut(first, " ")
		switch n, err := strconv.Atoi(what); {
		case !ended || rest != "" && !strings.HasSuffix(rest, "\n"):
			t.Errorf("%q: a line is incomplete: %q", words, text)
		case kind == "command" && (err != nil || n < 0 || n > last):
			t.Errorf("%q: there is no word %q", words, what)
		case (kind == "words" || kind == "files") && !strings.HasPrefix(words[last], what):
			t.Errorf("%q: the word does not begin with %q", words, what)
		case !slices.Contains([]string{"words", "files", "command"}, kind):
			t.Errorf("%q: no shell knows %q", words, first)
		}
	})
}
