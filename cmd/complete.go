package cmd

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/completions"
)

// A completion is what a word can become, in the form that is in completion.go. Its zero
// value is nothing.
type completion struct {
	kind  string // "words", "files" or "command"
	what  string // the prefix, or the number of a word
	words []candidate
}

// A candidate is one word, and what it means.
type candidate struct{ word, text string }

func (c completion) String() string {
	if c.kind == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(c.kind + " " + c.what + "\n")
	for _, w := range c.words {
		if strings.ContainsFunc(w.word+w.text, unicode.IsControl) {
			continue // it is no line
		}
		b.WriteString(w.word)
		if w.text != "" {
			b.WriteString("\t" + w.text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// A typed is a command line that is being typed, with the router at the end of the
// words that are complete.
type typed struct {
	*program
	*router
	before []string
	cursor string
}

// completion finds what the word under the cursor can become.
func (p *program) completion(ctx context.Context, words []string, cursor string) completion {
	t := &typed{program: p, router: newRouter(p.commands()), before: words, cursor: cursor}
	var lacking *lackingValue
	switch err := t.read(words); {
	case errors.As(err, &lacking):
		return t.value(ctx, lacking.option, "", cursor)
	case err != nil:
		return completion{}
	case t.rest != nil:
		return t.argument(ctx)
	case strings.HasPrefix(cursor, "--"):
		return t.long(ctx)
	case strings.HasPrefix(cursor, "-"):
		return t.short(ctx)
	}
	return t.word(ctx)
}

// argument is what follows all options: the job and its arguments, or names of locks.
func (t *typed) argument(ctx context.Context) completion {
	switch {
	case t.runs():
		return commandAt(len(t.before) - len(t.rest))
	case t.command.Name == forgetName:
		return t.forgotten(ctx)
	}
	return completion{}
}

// forgotten are the locks that were not named yet.
func (t *typed) forgotten(ctx context.Context) completion {
	return wordsOf(t.cursor, slices.DeleteFunc(t.lockNames(ctx), func(c candidate) bool {
		return slices.Contains(t.names, c.word) || slices.Contains(t.rest, c.word)
	}))
}

// runs reports whether words that are no options are a command to run.
func (t *typed) runs() bool {
	return t.command.Name == "run" || t.command.Name == "config" && t.verb != ""
}

func commandAt(word int, others ...candidate) completion {
	return completion{"command", strconv.Itoa(word), others}
}

// word is the first one that is no option.
func (t *typed) word(ctx context.Context) completion {
	switch {
	case !t.named && t.cursor == "": // all programs there are would only hide them
		return wordsOf("", t.subcommands())
	case !t.named:
		return commandAt(len(t.before), beginning(t.cursor, t.subcommands())...)
	case t.runs():
		return commandAt(len(t.before))
	case t.command.Name == "config":
		return wordsOf(t.cursor, []candidate{{showVerb, t.command.Usage}})
	case t.command.Name == "help":
		return wordsOf(t.cursor, t.subcommands())
	case t.command.Name == forgetName:
		return t.forgotten(ctx)
	case t.command.Name == "completion":
		return wordsOf(t.cursor, plainWords(completions.Shells()))
	case t.cursor == "": // only options can follow
		return wordsOf("", t.optionNames(false))
	}
	return completion{}
}

func (t *typed) subcommands() []candidate {
	var all []candidate
	for _, c := range t.router.commands {
		all = append(all, candidate{c.Name, c.Usage})
	}
	return all
}

// long is "--name", or a value that is joined to it.
func (t *typed) long(ctx context.Context) completion {
	name, value, joined := strings.Cut(t.cursor, "=")
	if !joined {
		return wordsOf(t.cursor, t.optionNames(false))
	}
	if f := t.router.lookup(strings.TrimPrefix(name, "--")); f != nil {
		return t.value(ctx, f, name+"=", value)
	}
	return completion{}
}

// short is "-", or one or several options, the last with a value, perhaps.
func (t *typed) short(ctx context.Context) completion {
	if t.cursor == "-" {
		return wordsOf("-", t.optionNames(true))
	}
	for i, r := range t.cursor[1:] {
		f := t.router.lookup(string(r))
		end := 1 + i + len(string(r))
		switch {
		case f == nil:
			return completion{}
		case takesValue(f) && end < len(t.cursor):
			return t.value(ctx, f, t.cursor[:end], t.cursor[end:])
		}
	}
	return completion{kind: "words", words: []candidate{{word: t.cursor}}}
}

// optionNames are those that can be given, and were not yet.
func (t *typed) optionNames(short bool) []candidate {
	var all []candidate
	for _, f := range t.command.Flags {
		if !f.(cli.VisibleFlag).IsVisible() || t.count(f.Names()[0]) > 0 && !counts(f) {
			continue
		}
		_, usage := unquoteUsage(f.(cli.DocGenerationFlag).GetUsage())
		for _, name := range f.Names() {
			if len(name) > 1 {
				all = append(all, candidate{"--" + name, usage})
			} else if short {
				all = append(all, candidate{"-" + name, usage})
			}
		}
	}
	return all
}

func wordsOf(cursor string, all []candidate) completion {
	return completion{kind: "words", words: beginning(cursor, all)}
}

// beginning returns those that a word can become.
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
