package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A block is a part of a file that is run or checked. A comment with commands is
// one, too.
type block struct {
	line     int    // of the first line of text
	lang     string // as after the fence
	text     string
	notRun   string // why it is not run
	file     string // its text is that of this file
	terminal string
	goesOn   string // why its last command does not end
}

// languages are those that a block can have.
var languages = []string{"sh", "console", "crontab", "yaml", "ini", "json", "text"}

var (
	fence     = regexp.MustCompile("^( *)```(.*)$")
	directive = regexp.MustCompile(`(?s)^\s*(not run|run instead|run|file|terminal|goes on):\s*(.*?)\s*$`)
)

// blocks finds those of a file in Markdown. An error begins with the line.
func blocks(text string) ([]block, error) {
	var all []block
	var next block // what comments say of the block that follows
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		begin := i
		switch m := fence.FindStringSubmatch(lines[i]); {
		case m != nil:
			b := next
			next = block{}
			end := slices.IndexFunc(lines[i+1:], func(l string) bool { return strings.TrimSpace(l) == "```" })
			if end < 0 {
				return nil, fmt.Errorf("%d: the block has no end", begin+1)
			}
			if b.lang == "" {
				b.line, b.lang, b.text = begin+2, m[2], unindent(lines[i+1:i+1+end], m[1])
			}
			i += 1 + end
			if err := b.check(); err != nil {
				return nil, fmt.Errorf("%d: %w", begin+1, err)
			}
			all = append(all, b)
		case strings.HasPrefix(lines[i], "<!--"):
			for i < len(lines) && !strings.Contains(lines[i], "-->") {
				i++
			}
			if i == len(lines) {
				return nil, fmt.Errorf("%d: the comment has no end", begin+1)
			}
			whole := strings.Join(lines[begin:i+1], "\n")
			inner, _, _ := strings.Cut(strings.TrimPrefix(whole, "<!--"), "-->")
			m := directive.FindStringSubmatch(inner)
			if m == nil {
				return nil, fmt.Errorf("%d: the comment says nothing that is known", begin+1)
			}
			line := begin + 1 + strings.Count(whole[:strings.Index(whole, m[2])], "\n")
			switch m[1] {
			case "not run":
				next.notRun = m[2]
			case "run instead":
				next.line, next.lang, next.text = line, "sh", m[2]
			case "file":
				next.file = m[2]
			case "terminal":
				next.terminal = m[2]
			case "goes on":
				next.goesOn = m[2]
			case "run":
				all = append(all, block{line: line, lang: "sh", text: m[2], terminal: next.terminal})
				next = block{}
			}
		case next != block{}:
			return nil, fmt.Errorf("%d: the comment above has no block", begin+1)
		}
	}
	return all, nil
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
		return fmt.Errorf("the language %q is none of %s", b.lang, strings.Join(languages, ", "))
	case b.lang == "text" && regexp.MustCompile(`(?m)^\$ `).MatchString(b.text):
		return fmt.Errorf("there are commands in a block of text")
	}
	return nil
}

// A typed is a command of a console, and what it prints.
type typed struct {
	line    int
	command string // "" where a block begins with what an earlier one prints
	prints  []string
}

// console takes a block of that language apart.
func (b *block) console() (all []typed) {
	for i, l := range strings.Split(b.text, "\n") {
		command, ok := strings.CutPrefix(l, "$ ")
		if more, is := strings.CutPrefix(l, "> "); is && len(all) > 0 && all[len(all)-1].command != "" && len(all[len(all)-1].prints) == 0 {
			all[len(all)-1].command += "\n" + more
			continue
		}
		if ok || len(all) == 0 {
			all = append(all, typed{line: b.line + i, command: command})
			if ok {
				continue
			}
			all[len(all)-1].command = ""
		}
		last := &all[len(all)-1]
		last.prints = append(last.prints, l)
	}
	return all
}
