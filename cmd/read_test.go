package cmd

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/locks"
)

// spelled returns a line as it was read: its subcommand, options by their long names, and
// what follows.
func spelled(l *options.Line) string {
	words := []string{l.Command.Name}
	for _, g := range l.Given {
		words = append(words, "--"+g.Name+"="+g.Text)
	}
	return strings.Join(slices.Concat(words, []string{"--"}, l.Words, l.Rest), " ")
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"", "run --"},
		{"true", "run -- true"},
		{"run true", "run -- true"},
		{"-- true", "run -- true"},
		{"run -- true", "run -- true"},
		{"--", "run --"},
		{"-", "run -- -"},

		// Options end at the first argument that is not an option.
		{"true -n", "run -- true -n"},
		{"-n true -n", "run --nonblock=true -- true -n"},
		{"-n true -- -n", "run --nonblock=true -- true -- -n"},
		{"-- -n", "run -- -n"},
		{"-- --", "run -- --"},

		// After "--" nothing is ours.
		{"-- status", "run -- status"},
		{"-- run", "run -- run"},
		{"-- check --for 3", "run -- check --for 3"},
		{"run run", "run -- run"},
		{"run status", "run -- status"},
		{"run -n status", "run --nonblock=true -- status"},
		{"run -- --help", "run -- --help"},

		// Long options.
		{"--lock x true", "run --lock=x -- true"},
		{"--lock=x true", "run --lock=x -- true"},
		{"--lock= true", "run --lock= -- true"},
		{"--lock=a=b true", "run --lock=a=b -- true"},
		{"--lock -- true", "run --lock=-- -- true"},
		{"--nonblock true", "run --nonblock=true -- true"},
		{"--nonblock=false true", "run --nonblock=false -- true"},

		// Short options, joined, of which the last has a value.
		{"-lx true", "run --lock=x -- true"},
		{"-l=x true", "run --lock=x -- true"},
		{"-l x true", "run --lock=x -- true"},
		{"-l -n true", "run --lock=-n -- true"},
		{"-nE0 true", "run --nonblock=true --conflict-exit-code=0 -- true"},
		{"-nE 0 true", "run --nonblock=true --conflict-exit-code=0 -- true"},
		{"-w10 true", "run --wait=10 -- true"},
		{"-nlx true", "run --nonblock=true --lock=x -- true"},
		{"-lnq true", "run --lock=nq -- true"},

		// A switch that counts.
		{"-v true", "run --verbose=1 -- true"},
		{"-vv true", "run --verbose=1 --verbose=2 -- true"},
		{"-v --verbose true", "run --verbose=1 --verbose=2 -- true"},
		{"--verbose=0 true", "run --verbose=0 -- true"},

		// Options may stand before the subcommand.
		{"-n run true", "run --nonblock=true -- true"},
		{"--for 3s check", "check --for=3s --"},
		{"check --for 3s", "check --for=3s --"},
		{"check now", "check -- now"},
		{"version", "version --"},

		// Names of locks may stand before options.
		{"forget a --yes b", "forget --yes=true -- a b"},
		{"-y forget a -q -- -b --", "forget --yes=true --quiet=true -- a -b --"},
		{"forget", "forget --"},
		{"forget status --help", "help -- forget"},

		// Help and version, wherever they occur.
		{"--help", "help -- run"},
		{"-h", "help -- run"},
		{"-nh -l x true", "help -- run"},
		{"check --help", "help -- check"},
		{"--help check", "help -- check"},
		{"help check", "help -- check"},
		{"--help-all", "help --all=true -- run"},
		{"-n --help-all true", "help --all=true -- run"},
		{"--help --help-all", "help --all=true -- run"},
		{"true --help-all", "run -- true --help-all"},
		{"--version", "version --"},
		{"-V", "version --"},
		{"-nV true", "version --"},
		{"true --version", "run -- true --version"},
	} {
		l, err := options.Read(strings.Fields(tt.args), Commands())
		if err != nil {
			t.Errorf("leaderrun %s: %v", tt.args, err)
			continue
		}
		if got := spelled(l); got != tt.want {
			t.Errorf("leaderrun %s:\n got %q\nwant %q", tt.args, got, tt.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"--nonblok true", `unknown option --nonblok (did you mean "--nonblock"?)`},
		{"--nonblok=x true", `unknown option --nonblok (did you mean "--nonblock"?)`},
		{"--xyzzy true", "unknown option --xyzzy"},
		{"--n true", "unknown option --n"},
		{"-x true", "unknown option -x"},
		{"-nx true", "unknown option -x"},
		{"-n0 true", "unknown option -0"},
		{"-é true", "unknown option -é"},
		{"--\x1b[2J true", `unknown option --\x1b[2J`},
		{"--lock", "option --lock needs a value"},
		{"-l", "option -l needs a value"},
		{"-nl", "option -l needs a value"},
		{"--for 3 true", `unknown option --for (did you mean "--job"?)`},
		{"check -n", "unknown option -n of leaderrun check"},
		{"-n check", "unknown option -n of leaderrun check"},
		{"version --for 3", "unknown option --for of leaderrun version"},
		{"--nonblock=perhaps true", `option --nonblock: invalid value "perhaps" (want true or false)`},
		{"-w soon true", `option -w: invalid duration "soon" (want 10, 1.5, 2m30s or 1d)`},
		{"check --for soon", `option --for: invalid duration "soon" (want 10, 1.5, 2m30s or 1d)`},
		{"forget -l x", "unknown option -l of leaderrun forget"},
		{"forget x --force", "unknown option --force of leaderrun forget"},
		{"-n completion", "unknown option -n of leaderrun completion"},
	} {
		_, err := options.Read(strings.Fields(tt.args), Commands())
		if err == nil || err.Error() != tt.want || !errors.Is(err, locks.ErrUsage) {
			t.Errorf("leaderrun %q:\n got %v\nwant %s", tt.args, err, tt.want)
		}
	}
}

// TestReadChecksVariables: an invalid variable is an error only for a subcommand that has
// the option.
func TestReadChecksVariables(t *testing.T) {
	t.Setenv("LEADERRUN_WAIT", "soon")
	for name, want := range map[string]string{"run": `LEADERRUN_WAIT: invalid duration "soon" (want 10, 1.5, 2m30s or 1d)`, "version": ""} {
		if _, err := options.Read([]string{name}, Commands()); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: got %v; want %s", name, err, want)
		}
	}
}

// TestBadValuesAreQuoted: errors do not show passwords, control characters or long values.
func TestBadValuesAreQuoted(t *testing.T) {
	t.Parallel()
	bad := "etcd://u:opensesame@h\x1b[2J" + strings.Repeat("x", 1000)
	for _, c := range Commands() {
		for _, o := range c.Options() {
			_, err := options.Read([]string{c.Name, "--" + o.Name + "=" + bad}, Commands())
			if err == nil {
				continue // an option that takes any text
			}
			if text := err.Error(); strings.Contains(text, "sesame") || strings.Contains(text, "\x1b") || len(text) > 300 {
				t.Errorf("--%s: %q", o.Name, text)
			}
		}
	}
}

// FuzzRead: for all arguments, what follows the options is unchanged, and the subcommand has
// all options before it.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"true", "-nE0\x00-l\x00x\x00--\x00status", "check\x00--for\x003", "--lock=x\x00run\x00-vv\x00a\x00--", "-\xff", "--=\x00x", "-h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		args := strings.Split(joined, "\x00")
		l, err := options.Read(slices.Clone(args), Commands())
		if err != nil {
			if !errors.Is(err, locks.ErrUsage) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %q", args, err)
			}
			return
		}
		for _, g := range l.Given {
			if !slices.ContainsFunc(l.Command.Options(), func(o options.Option) bool { return o.Name == g.Name }) {
				t.Errorf("%q: %s has no option %q", args, l.Command.Name, g.Name)
			}
		}
		if l.Command.Name != "help" && !slices.Equal(l.Rest, args[len(args)-len(l.Rest):]) {
			t.Errorf("%q: the command became %q", args, l.Rest)
		}
	})
}
