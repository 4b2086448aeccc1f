package complete

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/completions"
)

// A completion is an answer in the form that command.go describes. Its zero value is no
// answer.
type completion struct {
	kind  string // "words", "files" or "command"
	what  string // the prefix, or the number of a word
	words []candidate
}

// A candidate is a word and its description.
type candidate struct{ word, text string }

func (c completion) String() string {
	if c.kind == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(c.kind + " " + c.what + "\n")
	for _, w := range c.words {
		if strings.ContainsFunc(w.word+w.text, unicode.IsControl) {
			continue // it does not fit in a line
		}
		b.WriteString(w.word)
		if w.text != "" {
			b.WriteString("\t" + w.text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// A typed is a command line that is being typed.
type typed struct {
	*options.Line // of the complete words
	env           *env.Env
	before        []string // the complete words
	cursor        string   // the part of the word before the cursor
}

// complete finds what the word under the cursor can become.
func complete(ctx context.Context, e *env.Env, commands []*options.Command, words []string, cursor string) completion {
	line, err := options.ReadPart(words, commands)
	t := &typed{Line: line, env: e, before: words, cursor: cursor}
	for i := range t.Given { // the shell may not have replaced a tilde
		if g := &t.Given[i]; g.Name == "config" && strings.HasPrefix(g.Text, "~/") {
			g.Text = path.Join(os.Getenv("HOME"), g.Text[2:])
		}
	}
	var lacking *options.LackingValue
	switch {
	case errors.As(err, &lacking):
		return t.value(ctx, lacking.Option, "", cursor)
	case err != nil:
		return completion{}
	case t.Rest == nil && strings.HasPrefix(cursor, "--"):
		return t.long(ctx)
	case t.Rest == nil && strings.HasPrefix(cursor, "-"):
		return t.short(ctx)
	}
	return t.word(ctx)
}

// runs reports whether words that are not options are a command to run.
func (t *typed) runs() bool {
	return t.Command.Name == "run" || t.Command.Name == "config" && slices.Equal(t.Words, []string{"show"})
}

func commandAt(word int, others ...candidate) completion {
	return completion{"command", strconv.Itoa(word), others}
}

// word completes a word that is not an option: the first such word, or one that follows it.
func (t *typed) word(ctx context.Context) completion {
	switch {
	case !t.Named && t.Rest == nil && t.cursor == "": // they would get lost among all programs
		return wordsOf("", t.subcommands())
	case !t.Named && t.Rest == nil:
		return commandAt(len(t.before), beginning(t.cursor, t.subcommands())...)
	case t.runs():
		return commandAt(len(t.before) - len(t.Rest))
	case t.Command.Name == "forget": // each lock once
		return wordsOf(t.cursor, slices.DeleteFunc(t.lockNames(ctx), func(c candidate) bool {
			return slices.Contains(t.Words, c.word) || slices.Contains(t.Rest, c.word)
		}))
	case t.Rest != nil:
		return completion{}
	case t.Command.Name == "config" && t.Words != nil: // it is not "show"
		return completion{}
	case t.Command.Name == "config":
		return wordsOf(t.cursor, []candidate{{"show", t.Command.Usage}})
	case t.Command.Name == "help":
		return wordsOf(t.cursor, t.subcommands())
	case t.Command.Name == "completion":
		return wordsOf(t.cursor, plainWords(completions.Shells()))
	case t.cursor == "": // only options can follow
		return wordsOf("", t.optionNames(false))
	}
	return completion{}
}

func (t *typed) subcommands() []candidate {
	var all []candidate
	for _, c := range t.Commands {
		all = append(all, candidate{c.Name, c.Usage})
	}
	return all
}

// long completes "--name", or the value in "--name=value".
func (t *typed) long(ctx context.Context) completion {
	name, value, joined := strings.Cut(t.cursor, "=")
	if !joined {
		return wordsOf(t.cursor, t.optionNames(false))
	}
	if f := t.Lookup(strings.TrimPrefix(name, "--")); f != nil {
		return t.value(ctx, f, name+"=", value)
	}
	return completion{}
}

// short completes "-", or short options, of which the last may have a value.
func (t *typed) short(ctx context.Context) completion {
	if t.cursor == "-" {
		return wordsOf("-", t.optionNames(true))
	}
	for i, r := range t.cursor[1:] {
		f := t.Lookup(string(r))
		end := 1 + i + len(string(r))
		switch {
		case f == nil:
			return completion{}
		case f.TakesValue() && end < len(t.cursor):
			return t.value(ctx, f, t.cursor[:end], t.cursor[end:])
		}
	}
	return completion{kind: "words", words: []candidate{{word: t.cursor}}}
}

// optionNames returns the options that may still be given.
func (t *typed) optionNames(short bool) []candidate {
	var all []candidate
	for _, o := range t.Command.Shown() {
		if t.Count(o.Name) > 0 && !o.Counts() {
			continue
		}
		_, usage := o.Phrase()
		all = append(all, candidate{"--" + o.Name, usage})
		if short && o.Short != "" {
			all = append(all, candidate{"-" + o.Short, usage})
		}
	}
	return all
}

func wordsOf(cursor string, all []candidate) completion {
	return completion{kind: "words", words: beginning(cursor, all)}
}

// beginning returns the candidates that begin with a part of a word.
func beginning(part string, all []candidate) []candidate {
	return slices.DeleteFunc(all, func(c candidate) bool { return !strings.HasPrefix(c.word, part) })
}

func plainWords(words []string) []candidate {
	var all []candidate
	for _, word := range words {
		all = append(all, candidate{word: word})
	}
	return all
}
