package options

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/leaderrun/leaderrun/cmd/output"
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
			return nil, output.WithHint(r.fail(n, commandKey+": "+err.Error()),
				"a command that needs a shell is a list: [sh, -c, \"…\"]")
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
