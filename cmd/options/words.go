package options

import (
	"errors"
	"fmt"

	"github.com/mattn/go-shellwords"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// splitWords splits a command into words. The library stops without an error at the end of
// a command of a shell, and takes back quotes for quotes.
func splitWords(text string) ([]string, error) {
	if substitutes(text) {
		return nil, errors.New("command substitution needs a shell")
	}
	p := shellwords.NewParser()
	p.ParseEnv, p.ParseBacktick, p.ParseComment = false, false, false
	words, err := p.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("a quote is not closed, or a parenthesis needs a shell")
	case p.Position >= 0:
		return nil, errors.New("the characters ; & | < > need a shell, or quotes around them")
	}
	return words, nil
}

// substitutes reports whether a shell would replace a part of the text, outside of quotes,
// by the output of another command.
func substitutes(text string) bool {
	var quote, before rune
	for _, r := range text {
		switch {
		case before == '\\' && quote != '\'':
			r = 0 // it has no special meaning
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

// CommandOf returns the command in the value of an option: words, with the quotes and
// backslashes of a shell, but nothing else of a shell.
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
