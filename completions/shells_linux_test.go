package completions

import (
	"slices"
	"strings"
	"testing"
)

// lines are lines in bash and zsh, and the result of Tab.
var lines = [][2]string{
	// Subcommands and options.
	{"leaderrun resig", "leaderrun resign "},
	{"leaderrun -n -l x resig", "leaderrun -n -l x resign "},
	{"leaderrun --nonb", "leaderrun --nonblock "},
	{"leaderrun --nonblock --nonb", "leaderrun --nonblock --nonb"},
	{"leaderrun status --al", "leaderrun status --all "},
	{"leaderrun --unheard", "leaderrun --unheard"},
	{"leaderrun completion z", "leaderrun completion zsh "},

	// Values, apart and joined.
	{"leaderrun --takeover s", "leaderrun --takeover strict "},
	{"leaderrun --takeover=s", "leaderrun --takeover=strict "},
	{"leaderrun -s TER", "leaderrun -s TERM "},
	{"leaderrun -nsTER", "leaderrun -nsTERM "},
	{"leaderrun --job nightl", "leaderrun --job nightly "},
	{"leaderrun --job night\\ ", "leaderrun --job night\\ shift "},
	{"leaderrun --id ", "leaderrun --id "},

	// Names and URLs contain characters at which bash splits words.
	{"leaderrun -l jobs", "leaderrun -l jobs:"},
	{"leaderrun -l jobs:e", "leaderrun -l jobs:eu "},
	{"leaderrun --lock=jobs:e", "leaderrun --lock=jobs:eu "},
	{"leaderrun -ljobs:e", "leaderrun -ljobs:eu "},
	{"leaderrun -l jobs:us@", "leaderrun -l jobs:us@2 "},
	{"leaderrun -l team/x", "leaderrun -l team/x "},
	{"leaderrun forget team/x jobs:e", "leaderrun forget team/x jobs:eu "},
	{"leaderrun -b to", "leaderrun -b toy"},
	{"leaderrun -b toy:", "leaderrun -b toy://"},
	{"leaderrun --backend=toy:", "leaderrun --backend=toy://"},
	{"leaderrun -b file:///us", "leaderrun -b file:///usr/"},
	{"leaderrun -b file:///usr/loca", "leaderrun -b file:///usr/local/"},
	{"leaderrun -b file:///nowhere -l jobs:e", "leaderrun -b file:///nowhere -l jobs:e"},
	{"leaderrun -b none://me:secret@h -l jobs:e", "leaderrun -b none://me:secret@h -l jobs:e"},

	// Files.
	{"leaderrun --config files", "leaderrun --config files.yaml "},
	{"leaderrun --config=files", "leaderrun --config=files.yaml "},
	{"leaderrun --config file\\ ", "leaderrun --config file\\ one.txt "},
	{"leaderrun --config ow", "leaderrun --config own/"},

	// Commands.
	{"leaderrun own-t", "leaderrun own-tool "},
	{"leaderrun -- own-t", "leaderrun -- own-tool "},
	{"leaderrun run -l jobs:eu own-t", "leaderrun run -l jobs:eu own-tool "},
	{"leaderrun --on-lost own-t", "leaderrun --on-lost own-tool "},

	// The program on the command line is the one that is asked.
	{"../bin/leaderrun --nonb", "../bin/leaderrun --nonblock "},
	{"../asked/leaderrun as", "../asked/leaderrun asked "},
	{"~/../asked/leaderrun as", "~/../asked/leaderrun asked "},
	{"../older/leaderrun old", "../older/leaderrun old"},
	{"../newer/leaderrun new", "../newer/leaderrun new"},
	{"./nowhere/leaderrun --nonb", "./nowhere/leaderrun --nonblock "},
}

// argumentLines are lines with a command that has its own completion.
var argumentLines = [][2]string{
	{"leaderrun own-tool alp", "leaderrun own-tool alpha "},
	{"leaderrun -l jobs:eu -b toy://h/p -- own-tool x alp", "leaderrun -l jobs:eu -b toy://h/p -- own-tool x alpha "},
	{"leaderrun -- leaderrun --lock=jobs:e", "leaderrun -- leaderrun --lock=jobs:eu "},
}

// lists are lines with everything that their last word can become.
var lists = [][2]string{
	{"leaderrun ", "leaderrun run status watch wait check resign release forget doctor config backends completion version help"},
	{"leaderrun --takeover ", "leaderrun --takeover fast strict"},
	{"leaderrun --takeover=", "leaderrun fast strict"},
	{"leaderrun -b ", "leaderrun -b file file:// toy toy://"},
	{"leaderrun -l ", "leaderrun -l jobs:eu jobs:us@2 team/a-b team/x"},
	{"leaderrun check -", "leaderrun check --for --help -h"},
}

const bashStart = `
PS1='` + prompt + `'
set -u -f -o pipefail
IFS=:
alias leaderrun='leaderrun -v'
bind 'set bell-style none'
bind 'set completion-query-items 0'
bind 'set page-completions off'
bind '"\C-xa": insert-completions'
bind -x '"\C-xp": printf "%%s\n" "$READLINE_LINE" >%[1]s; READLINE_LINE= READLINE_POINT=0'
complete -W 'alpha beta' own-tool
`

func TestBash(t *testing.T) {
	t.Parallel()
	require(t, "bash")
	script := ". " + here.path("scripts") + "/leaderrun.bash\n"
	s := start(t, "rc", script+bashStart, "bash", "--noprofile", "--rcfile", "rc", "-i")
	s.completes(lines)
	s.lists()
	s.completes([][2]string{
		{"leaderrun own-tool files", "leaderrun own-tool files.yaml "},
		{"leaderrun -l 'jobs:e", "leaderrun -l 'jobs:eu'"},
		{`leaderrun --job "night s`, `leaderrun --job "night shift"`},
		{"true; leaderrun --nonb", "true; leaderrun --nonblock "},
		{"X=1 leaderrun --nonb", "X=1 leaderrun --nonblock "},
		{"leaderrun --nonbx\x02", "leaderrun --nonblock x"},
		{"leaderrun --nonb -l x\x01\x1bf\x1bf", "leaderrun --nonblock -l x"},
	})
}

// TestBashCompletion uses the package bash-completion, which knows how other programs are
// completed.
func TestBashCompletion(t *testing.T) {
	t.Parallel()
	const library = "/usr/share/bash-completion/bash_completion"
	require(t, "bash", library)
	script := ". " + library + "\n. " + here.path("scripts") + "/leaderrun.bash\n"
	theirs := strings.Replace(bashStart, "IFS=:\n", "", 1) // the package needs the original IFS
	s := start(t, "rc", script+theirs, "bash", "--noprofile", "--rcfile", "rc", "-i")
	s.completes(lines)
	s.completes(argumentLines)
	s.lists()
}

// TestOldBash runs without compopt, which bash 3.2, as on macOS, does not have.
func TestOldBash(t *testing.T) {
	t.Parallel()
	require(t, "bash")
	script := "enable -n compopt mapfile readarray\n. " + here.path("scripts") + "/leaderrun.bash\n"
	s := start(t, "rc", script+bashStart, "bash", "--noprofile", "--rcfile", "rc", "-i")
	for _, c := range lines {
		got := s.becomes(c[0], tab)
		if strings.TrimRight(got, " ") != strings.TrimRight(c[1], " ") {
			t.Errorf("%s\n got %q\nwant %q", c[0], got, c[1])
		}
	}
	s.lists()
}

const zshStart = `
PS1='` + prompt + `'
setopt nounset noglob
zstyle ':completion:*' list-prompt ''
autoload -Uz compinit
compinit -u -D
%[2]s
report() { print -r -- "$BUFFER" >%[1]s; BUFFER= }
zle -N report
bindkey '^Xp' report
insert_all() { _main_complete; compstate[insert]=all; compstate[list]= }
zle -C insert-all complete-word insert_all
bindkey '^Xa' insert-all
_own_tool() { compadd alpha beta }
compdef _own_tool own-tool
`

func TestZsh(t *testing.T) {
	t.Parallel()
	require(t, "zsh")
	for name, script := range map[string]string{
		"autoloaded": "",
		"sourced":    "source <(leaderrun completion zsh)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := "fpath=(" + here.path("scripts") + " $fpath)\n"
			if script != "" {
				begin = ""
			}
			s := start(t, ".zshrc", begin+strings.Replace(zshStart, "%[2]s", script, 1), "zsh", "-d", "-i")
			s.completes(lines)
			s.completes(argumentLines)
			s.lists()
		})
	}
}

// lists checks everything that the last words of lines can become, in any order.
func (s *shell) lists() {
	s.t.Helper()
	for _, c := range lists {
		got, want := strings.Fields(s.becomes(c[0], all)), strings.Fields(c[1])
		for i, word := range got {
			_, value, joined := strings.Cut(word, "=") // zsh repeats the option, bash does not
			if joined {
				got[i] = value
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			s.t.Errorf("%s: got %q, want %q", c[0], got, want)
		}
	}
}
