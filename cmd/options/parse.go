package options

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// We use only the library's parser and its tree, which knows lines. That adds a twentieth
// of a millisecond to each start. Anchors, aliases and tags are errors, so that a file
// cannot expand to something bigger than it looks.

// The keys that are not options.
const (
	jobsKey    = "jobs"
	commandKey = "command"
)

// keys returns the options of a run that may be in a config file.
func keys() (names []string) {
	for _, o := range NewValues().Table() {
		if o.From == Anywhere {
			names = append(names, o.Name)
		}
	}
	return names
}

func parseConfig(file string, text []byte) (*config, error) {
	c := &config{file: file, jobs: map[string]*section{}}
	if line := tooDeep(text); line > 0 {
		return nil, c.at(line, "it is nested too deeply")
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, c.syntax(err)
	}
	for i, doc := range tree.Docs {
		if i > 0 {
			return nil, c.fail(doc, "a config file must be one document")
		}
		if err := c.read(doc.Body); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// tooDeep returns the line on which more brackets are open than anyone needs, or 0. The
// library takes minutes for 64 KiB of them. Brackets in quotes are also counted, but
// usually closed.
func tooDeep(text []byte) int {
	line, open := 1, 0
	for _, c := range text {
		switch c {
		case '\n':
			line++
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		}
		if open > 200 {
			return line
		}
	}
	return 0
}

// syntax returns an error of the library in our form. Its own text repeats the line.
func (c *config) syntax(err error) error {
	e := &fileError{file: c.file, what: err.Error()}
	if s, ok := err.(interface {
		GetMessage() string
		GetToken() *token.Token
	}); ok {
		e.what = s.GetMessage()
		if t := s.GetToken(); t != nil && t.Position != nil {
			e.line = t.Position.Line
		}
	}
	e.what = locks.Printable(locks.RedactText(e.what))
	return e
}

func (c *config) read(body ast.Node) error {
	options := keys()
	c.top = section{options: map[string]rawValue{}}
	return c.eachKey(body, "a config file", func(key string, n *ast.MappingValueNode) error {
		if key != jobsKey {
			return c.option(&c.top, key, n, options, jobsKey)
		}
		return c.eachKey(n.Value, jobsKey, func(name string, n *ast.MappingValueNode) error {
			job := &section{line: line(n.Key), options: map[string]rawValue{}}
			c.jobs[name] = job
			return c.eachKey(n.Value, "job "+output.Quote(name), func(key string, n *ast.MappingValueNode) error {
				if key == commandKey {
					var err error
					job.command, err = c.jobCommand(n.Value)
					return err
				}
				return c.option(job, key, n, options, commandKey)
			})
		})
	})
}

// option stores an option's value. The section may also have the key other.
func (c *config) option(s *section, key string, n *ast.MappingValueNode, options []string, other string) error {
	if !slices.Contains(options, key) {
		err := &locks.UsageError{What: "unknown key " + output.Quote(key), Near: locks.Nearest(key, append(slices.Clone(options), other))}
		if instead := removed[key]; instead != "" {
			return output.WithHint(c.fail(n.Key, "unknown key "+output.Quote(key)), instead)
		}
		return c.fail(n.Key, err.Error())
	}
	text, err := c.scalar(n.Value, key)
	if err != nil {
		return err
	}
	s.options[key] = rawValue{text, line(n.Key)}
	return nil
}

// eachKey calls do for each key of a mapping, which may be missing. The library returns an
// error if a key occurs twice.
func (c *config) eachKey(n ast.Node, what string, do func(string, *ast.MappingValueNode) error) error {
	switch n := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil
	case *ast.MappingNode:
		for _, v := range n.Values {
			key, ok := plainKey(v.Key)
			if !ok {
				return c.fail(v.Key, "a key must be a plain word; merge keys, anchors and tags are not supported")
			}
			if err := do(key, v); err != nil {
				return err
			}
		}
		return nil
	}
	return c.fail(n, what+" must have lines like key: value")
}

// plainKey returns a key as text.
func plainKey(n ast.MapKeyNode) (string, bool) {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// scalar returns a single value as it is written.
func (c *config) scalar(n ast.Node, key string) (string, error) {
	text := ""
	switch n := n.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = strings.TrimSuffix(n.Value.Value, "\n")
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = n.GetToken().Value
	case nil, *ast.NullNode:
	case *ast.SequenceNode, *ast.MappingNode:
		return "", c.fail(n, key+" must be one value, not a list or a section")
	default:
		return "", c.fail(n, key+": anchors, aliases and tags are not supported")
	}
	switch {
	case text == "":
		return "", c.fail(n, key+" has no value")
	case strings.ContainsRune(text, 0):
		return "", c.fail(n, key+" contains a NUL byte")
	}
	return text, nil
}

// fail returns an error about a node.
func (c *config) fail(n ast.Node, what string) error { return c.at(line(n), "%s", what) }

func line(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// at returns an error about a line of the file.
func (c *config) at(line int, format string, args ...any) error {
	return &fileError{file: c.file, line: line, what: fmt.Sprintf(format, args...)}
}

// A command is the command of a job, before variables are expanded.
type command struct {
	words []string
	line  int
}

// jobCommand reads a job's command: a list of words, or a text with the quotes and backslashes
// of a shell, but nothing else of a shell.
func (c *config) jobCommand(n ast.Node) (*command, error) {
	job := &command{line: line(n)}
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		text, err := c.scalar(n, commandKey)
		if err != nil {
			return nil, err
		}
		if job.words, err = splitWords(text); err != nil {
			return nil, output.WithHint(c.fail(n, commandKey+": "+err.Error()),
				"write a command that needs a shell as a list: [sh, -c, \"…\"]")
		}
	} else {
		for _, v := range list.Values {
			if s, ok := v.(*ast.StringNode); ok && s.Value == "" { // an argument may be empty
				job.words = append(job.words, "")
				continue
			}
			text, err := c.scalar(v, commandKey)
			if err != nil {
				return nil, err
			}
			job.words = append(job.words, text)
		}
	}
	if len(job.words) == 0 || job.words[0] == "" {
		return nil, c.fail(n, commandKey+" names no program")
	}
	return job, nil
}
