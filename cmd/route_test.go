package cmd

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

func TestRoute(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"", "help --missing"},
		{"true", "run -- true"},
		{"run true", "run -- true"},
		{"-- true", "run -- true"},
		{"run -- true", "run -- true"},
		{"--", "run --"},
		{"-", "run -- -"},

		// Options end at the first argument that is none.
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

		// Short options, joined, a value last.
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

		// Help and version, wherever they are asked for.
		{"--help", "help -- run"},
		{"-h", "help -- run"},
		{"-nh -l x true", "help -- run"},
		{"check --help", "help -- check"},
		{"--help check", "help -- check"},
		{"help check", "help -- check"},
		{"--version", "version --"},
		{"-V", "version --"},
		{"-nV true", "version --"},
		{"true --version", "run -- true --version"},
	} {
		got, err := route(append([]string{"leaderrun"}, strings.Fields(tt.args)...), testCommands())
		if err != nil {
			t.Errorf("leaderrun %s: %v", tt.args, err)
			continue
		}
		if got[0] != "leaderrun" || strings.Join(got[1:], " ") != tt.want {
			t.Errorf("leaderrun %s:\n got %q\nwant %q", tt.args, strings.Join(got[1:], " "), tt.want)
		}
	}
}

func TestRouteRefuses(t *testing.T) {
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
		{"--nonblock=perhaps true", `option --nonblock: "perhaps" is neither true nor false`},
		{"-w soon true", `option -w: "soon" is no duration like 10, 1.5 or 2m30s`},
		{"check --for soon", `option --for: "soon" is no duration like 10, 1.5 or 2m30s`},
		{"forget -l x", "unknown option -l of leaderrun forget"},
		{"forget x --force", "unknown option --force of leaderrun forget"},
		{"-n completion", "unknown option -n of leaderrun completion"},
	} {
		_, err := route(append([]string{"leaderrun"}, strings.Fields(tt.args)...), testCommands())
		if err == nil || err.Error() != tt.want || !errors.Is(err, locks.ErrUsage) {
			t.Errorf("leaderrun %q:\n got %v\nwant %s", tt.args, err, tt.want)
		}
	}
}

// TestRouteChecksVariables has the variables of another subcommand be wrong,
// too, which does not matter.
func TestRouteChecksVariables(t *testing.T) {
	t.Setenv("LEADERRUN_WAIT", "soon")
	_, err := route([]string{"leaderrun", "true"}, testCommands())
	if want := `LEADERRUN_WAIT: "soon" is no duration like 10, 1.5 or 2m30s`; err == nil || err.Error() != want {
		t.Errorf("got %v; want %s", err, want)
	}
	if _, err := route([]string{"leaderrun", "version"}, testCommands()); err != nil {
		t.Errorf("version: %v", err)
	}
}

// FuzzRoute checks what holds for all arguments: what follows the options comes
// out unchanged, and before it there are only options that the subcommand has.
func FuzzRoute(f *testing.F) {
	for _, seed := range []string{"true", "-nE0\x00-l\x00x\x00--\x00status", "check\x00--for\x003", "--lock=x\x00run\x00-vv\x00a\x00--", "-\xff", "--=\x00x", "-h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		args := append([]string{"leaderrun"}, strings.Split(joined, "\x00")...)
		commands := testCommands()
		got, err := route(slices.Clone(args), commands)
		if err != nil {
			if !errors.Is(err, locks.ErrUsage) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %q", args, err)
			}
			return
		}
		dashes := slices.Index(got, "--")
		if dashes < 2 || got[0] != "leaderrun" {
			t.Fatalf("%q: got %q", args, got)
		}
		c := find(commands, got[1])
		if c == nil {
			t.Fatalf("%q: there is no subcommand %q", args, got[1])
		}
		for _, o := range got[2:dashes] {
			name, _, ok := strings.Cut(strings.TrimPrefix(o, "--"), "=")
			if !ok || lookup(c, name) == nil {
				t.Errorf("%q: %s has no option %q", args, c.Name, o)
			}
		}
		rest := got[dashes+1:]
		if c.Name != "help" && !slices.Equal(rest, args[len(args)-len(rest):]) {
			t.Errorf("%q: the command became %q", args, rest)
		}
	})
}
