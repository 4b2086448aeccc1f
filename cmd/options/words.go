package options

import (
	"fmt"

	"github.com/mattn/go-shellwords"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A wordError says why a text is no command without a shell.
type wordError string

func (w wordError) Error() string { return string(w) }

// splitWords splits a command. The library stops without an error at what ends a
// command in a shell, and reads back quotes as quotes.
func splitWords(text string) ([]string, error) {
	if substitutes(text) {
		return nil, wordError("command substitution needs a shell")
	}
	p := shellwords.NewParser()
	p.ParseEnv, p.ParseBacktick, p.ParseComment = false, false, false
	words, err := p.Parse(text)
	switch {
	case err != nil:
		return nil, wordError("a quote is not closed, or a parenthesis needs a shell")
	case p.Position >= 0:
		return nil, wordError("the characters ; & | < > need a shell, or quotes around them")
	}
	return words, nil
}

// substitutes reports whether a text has, outside of quotes, what a shell would
// replace by the output of another command.
func substitutes(text string) bool {
	var quote, before rune
	for _, r := range text {
		switch {
		case before == '\\' && quote != '\'':
			r = 0 // it stands for itself
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		case quote == 0 && (r == '`' || r == '(' && before == '$'):
			return true
		}
		before = r
	}
	return false
}

// CommandOf reads a command that an option gives as one text: words, with quotes
// and escapes as a shell has them, and nothing else of a shell.
func CommandOf(option, text string) (proc.Command, error) {
	words, err := splitWords(text)
	if err != nil {
		return proc.Command{}, output.WithHint(locks.Usagef("%s %s: %v", option, output.Quote(text), err),
			"to use a shell: "+option+` "sh -c '…'"`)
	}
	if len(words) == 0 || words[0] == "" {
		return proc.Command{}, locks.Usagef("%s %s names no program", option, output.Quote(text))
	}
	path, err := proc.Find(words[0])
	if err != nil {
		return proc.Command{}, fmt.Errorf("%s: %w", option, err)
	}
	return proc.Command{Path: path, Args: words}, nil
}
