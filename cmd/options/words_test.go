package options

import (
	"slices"
	"testing"
)

func TestSplitWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`a b  c`:                   {"a", "b", "c"},
		`sh -c "echo $(date) | x"`: {"sh", "-c", "echo $(date) | x"},
		"sh -c 'echo `date`; (x)'": {"sh", "-c", "echo `date`; (x)"},
		`echo \$ "\"" '\' a\ b ""`: {"echo", "$", `"`, `\`, "a b", ""},
		`curl -d $HOME`:            {"curl", "-d", "$HOME"},
		"echo \\`":                 {"echo", "`"},
	} {
		if got, err := splitWords(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("splitWords(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"a | b", "a; b", "a && b", "a > b", "echo `date`", "echo $(date)", `echo "`, "echo '", "(a)"} {
		if got, err := splitWords(text); err == nil {
			t.Errorf("splitWords(%q) = %q; want an error", text, got)
		}
	}
}
