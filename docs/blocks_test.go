package docs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A block is a part of a file that is run or checked. A comment with commands is also a
// block.
type block struct {
	line     int    // of the first line of text
	lang     string // as after the fence
	text     string
	notRun   string // why the block is not run
	file     string // the file whose content the text is
	terminal string
	goesOn   string // why the last command does not end
}

// languages are the languages of blocks.
var languages = []string{"sh", "console", "crontab", "yaml", "ini", "json", "text"}

var (
	fence     = regexp.MustCompile("^( *)```(.*)$")
	generated = regexp.MustCompile(`^ (generated: [a-z ]+|end generated) $`) // what make generate writes is between two of these
	directive = regexp.MustCompile(`(?s)^\s*(not run|run instead|run|file|terminal|goes on):\s*(.*?)\s*$`)
)

// A scanner reads a Markdown file.
type scanner struct {
	lines []string
	at    int // the present line, from 0
	all   []block
	next  block // what comments say about the next block
}

// blocks returns the blocks of a file. An error begins with the line.
func blocks(text string) ([]block, error) {
	s := scanner{lines: strings.Split(text, "\n")}
	for ; s.at < len(s.lines); s.at++ {
		begin := s.at
		var err error
		switch m := fence.FindStringSubmatch(s.lines[s.at]); {
		case m != nil:
			err = s.fenced(m[1], m[2])
		case strings.HasPrefix(s.lines[s.at], "<!--"):
			err = s.comment()
		case s.next != block{}:
			err = errors.New("the comment above has no block")
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", begin+1, err)
		}
	}
	return s.all, nil
}

// fenced reads a block up to its last line.
func (s *scanner) fenced(indent, lang string) error {
	lines := s.lines[s.at+1:]
	end := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "```" })
	if end < 0 {
		return errors.New("the block has no end")
	}
	b := s.next
	if b.lang == "" { // nothing to run instead
		b.line, b.lang, b.text = s.at+2, lang, unindent(lines[:end], indent)
	}
	s.all, s.next = append(s.all, b), block{}
	s.at += 1 + end
	return b.check()
}

// comment reads a comment up to its last line.
func (s *scanner) comment() error {
	end := slices.IndexFunc(s.lines[s.at:], func(l string) bool { return strings.Contains(l, "-->") })
	if end < 0 {
		return errors.New("the comment has no end")
	}
	whole := strings.Join(s.lines[s.at:s.at+end+1], "\n")
	inner, _, _ := strings.Cut(strings.TrimPrefix(whole, "<!--"), "-->")
	if generated.MatchString(inner) {
		s.at += end
		return nil
	}
	m := directive.FindStringSubmatch(inner)
	if m == nil {
		return errors.New("the comment is not a known directive")
	}
	line := s.at + 1 + strings.Count(whole[:strings.Index(whole, m[2])], "\n")
	s.at += end
	s.direct(m[1], m[2], line)
	return nil
}

// direct obeys a directive whose value begins in a line.
func (s *scanner) direct(name, value string, line int) {
	switch name {
	case "not run":
		s.next.notRun = value
	case "run instead":
		s.next.line, s.next.lang, s.next.text = line, "sh", value
	case "file":
		s.next.file = value
	case "terminal":
		s.next.terminal = value
	case "goes on":
		s.next.goesOn = value
	case "run":
		s.all = append(s.all, block{line: line, lang: "sh", text: value, terminal: s.next.terminal})
		s.next = block{}
	}
}

func unindent(lines []string, indent string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimPrefix(l, indent) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (b *block) check() error {
	switch {
	case b.file == "" && !slices.Contains(languages, b.lang):
		return fmt.Errorf("unknown language %q (want one of %s)", b.lang, strings.Join(languages, ", "))
	case b.lang == "text" && regexp.MustCompile(`(?m)^\$ `).MatchString(b.text):
		return errors.New("there are commands in a block of text")
	}
	return nil
}

// A typed is a command in a console, with its output.
type typed struct {
	line    int
	command string // "" if a block begins with the output of an earlier command
	prints  []string
}

// console parses a block of that language.
func (b *block) console() (all []typed) {
	for i, l := range strings.Split(b.text, "\n") {
		command, begins := strings.CutPrefix(l, "$ ")
		more, continues := strings.CutPrefix(l, "> ")
		if begins || i == 0 {
			all = append(all, typed{line: b.line + i, command: command})
		}
		switch last := &all[len(all)-1]; {
		case begins:
		case i == 0:
			last.command, last.prints = "", []string{l}
		case continues && last.command != "" && len(last.prints) == 0:
			last.command += "\n" + more
		default:
			last.prints = append(last.prints, l)
		}
	}
	return all
}
