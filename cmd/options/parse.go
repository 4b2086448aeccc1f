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

// A configReader turns a tree into a config.
type configReader struct {
	file    string
	options []string // the long names
}

func parseConfig(file string, text []byte) (*config, error) {
	r := &configReader{file: file, options: keys()}
	if line := tooDeep(text); line > 0 {
		return nil, &fileError{file: file, line: line, what: "it is nested too deeply"}
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, r.syntax(err)
	}
	c := &config{file: file, jobs: map[string]*section{}}
	for i, doc := range tree.Docs {
		if i > 0 {
			return nil, r.fail(doc, "a config file must be one document")
		}
		if err := r.read(c, doc.Body); err != nil {
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
func (r *configReader) syntax(err error) error {
	e := &fileError{file: r.file, what: err.Error()}
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

func (r *configReader) read(c *config, body ast.Node) error {
	c.top = section{options: map[string]entry{}}
	return r.eachKey(body, "a config file", func(key string, n *ast.MappingValueNode) error {
		if key != jobsKey {
			return r.option(&c.top, key, n, append(slices.Clone(r.options), jobsKey))
		}
		return r.eachKey(n.Value, jobsKey, func(name string, n *ast.MappingValueNode) error {
			job := &section{line: line(n.Key), options: map[string]entry{}}
			c.jobs[name] = job
			return r.eachKey(n.Value, "job "+output.Quote(name), func(key string, n *ast.MappingValueNode) error {
				if key == commandKey {
					var err error
					job.command, err = r.command(n.Value)
					return err
				}
				return r.option(job, key, n, append(slices.Clone(r.options), commandKey))
			})
		})
	})
}

// option stores an option's value.
func (r *configReader) option(s *section, key string, n *ast.MappingValueNode, known []string) error {
	if !slices.Contains(r.options, key) {
		err := &locks.UsageError{What: "unknown key " + output.Quote(key), Near: locks.Nearest(key, known)}
		return r.fail(n.Key, err.Error())
	}
	text, err := r.scalar(n.Value, key)
	if err != nil {
		return err
	}
	s.options[key] = entry{text, line(n.Key)}
	return nil
}

// eachKey calls do for each key of a mapping, which may be missing. The library returns an
// error if a key occurs twice.
func (r *configReader) eachKey(n ast.Node, what string, do func(string, *ast.MappingValueNode) error) error {
	switch n := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil
	case *ast.MappingNode:
		for _, v := range n.Values {
			key, ok := plainKey(v.Key)
			if !ok {
				return r.fail(v.Key, "a key must be a plain word; merge keys, anchors and tags are not supported")
			}
			if err := do(key, v); err != nil {
				return err
			}
		}
		return nil
	}
	return r.fail(n, what+" must have lines like key: value")
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
func (r *configReader) scalar(n ast.Node, key string) (string, error) {
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
		return "", r.fail(n, key+" must be one value, not a list or a section")
	default:
		return "", r.fail(n, key+": anchors, aliases and tags are not supported")
	}
	switch {
	case text == "":
		return "", r.fail(n, key+" has no value")
	case strings.ContainsRune(text, 0):
		return "", r.fail(n, key+" contains a NUL byte")
	}
	return text, nil
}

func (r *configReader) fail(n ast.Node, what string) error {
	return &fileError{file: r.file, line: line(n), what: what}
}

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

// command reads a job's command: a list of words, or a text with the quotes and backslashes
// of a shell, but nothing else of a shell.
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
				"write a command that needs a shell as a list: [sh, -c, \"…\"]")
		}
	} else {
		for _, v := range list.Values {
			if s, ok := v.(*ast.StringNode); ok && s.Value == "" { // an argument may be empty
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
