package completions

import (
	"os"
	"strings"
	"testing"
)

// TestScripts checks that the program prints the files unchanged.
func TestScripts(t *testing.T) {
	t.Parallel()
	for shell, file := range map[string]string{"bash": "leaderrun.bash", "zsh": "_leaderrun", "fish": "leaderrun.fish"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if Script(shell) != string(text) {
			t.Errorf("%s: the script is not %s", shell, file)
		}
	}
}

// TestScriptsKnowTheProtocol checks the scripts of all shells, because a shell may not be
// installed here: each asks the question in the right form, without room for error messages,
// and knows each kind of answer; see "leaderrun completion" in package cmd.
func TestScriptsKnowTheProtocol(t *testing.T) {
	t.Parallel()
	questions := map[string]string{
		"bash": `command "$word" "${args[@]}" 2>/dev/null </dev/null`,
		"zsh":  `command $program completion "--cursor=${(Q)PREFIX}" -- "${(@Q)words[2,CURRENT-1]}" 2>/dev/null </dev/null`,
		"fish": `command $program completion --cursor="$cursor" -- $words[2..-1] 2>/dev/null </dev/null`,
	}
	answers := map[string]string{"bash": "\n\tX", "zsh": "\n\tX)", "fish": "case X"}
	for _, shell := range Shells() {
		if !strings.Contains(Script(shell), questions[shell]) {
			t.Errorf("%s does not ask: %s", shell, questions[shell])
		}
		for _, kind := range []string{"words", "files", "command"} {
			if want := strings.Replace(answers[shell], "X", kind, 1); !strings.Contains(Script(shell), want) {
				t.Errorf("%s does not know the answer %q", shell, kind)
			}
		}
	}
}
