package cmd

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/mattn/go-shellwords"
)

// A command is a job's, in words, not expanded.
type command struct {
	words []string
	line  int
}

// command reads a job's command: a list of words, or a text in which quotes and
// backslashes work as in a shell, and nothing else does.
func (r *configReader) command(n ast.Node) (*command, error) {
	c := &command{line: line(n)}
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		text, err := r.scalar(n, commandKey)
		if err != nil {
			return nil, err
		}
		if c.words, err = splitWords(text); err != nil {
			return nil, &hinted{r.fail(n, commandKey+": "+err.Error()),
				"a command that needs a shell is a list: [sh, -c, \"…\"]"}
		}
	} else {
		for _, v := range list.Values {
			if s, ok := v.(*ast.StringNode); ok && s.Value == "" { // an empty argument is one
				c.words = append(c.words, "")
				continue
			}
			text, err := r.scalar(v, commandKey)
			if err != nil {
				return nil, err
			}
			c.words = append(c.words, text)
		}
	}
	if len(c.words) == 0 || c.words[0] == "" {
		return nil, r.fail(n, commandKey+" names no program")
	}
	return c, nil
}

// A wordError says why a text is no command without a shell.
type wordError string

func (w wordError) Error() string { return string(w) }

// splitWords splits a command. The library stops without an error at what ends a
// command in a shell, and reads back quotes as quotes.
func splitWords(text string) ([]string, error) {
	if strings.Contains(text, "`") || strings.Contains(text, "$(") {
		return nil, wordError("the output of another command needs a shell")
	}
	p := shellwords.NewParser()
	p.ParseEnv, p.ParseBacktick, p.ParseComment = false, false, false
	words, err := p.Parse(text)
	switch {
	case err != nil:
		return nil, wordError("a quote is not closed, or a parenthesis needs a shell")
	case p.Position >= 0:
		return nil, wordError("one of the characters ; & | < > needs a shell, or quotes around it")
	}
	return words, nil
}
