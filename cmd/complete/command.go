// Package complete answers the scripts by which shells complete what is typed.
package complete

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/completions"
	"github.com/leaderrun/leaderrun/locks"
)

// A shell's script asks how a word can be completed with
//
//	leaderrun completion --cursor=WORD -- [WORD...]
//
// The first WORD is the part of the word before the cursor, and the others are the words
// before that one. With --quoted they still have their quotes, as typed in a POSIX shell.
// The first line of the answer is one of these:
//
//	words PREFIX   The word can become any of the lines that follow, with the prefix
//	               before it. A tab and a description may follow the word.
//	files PREFIX   It can become the name of any file, with the prefix before it.
//	command N      It belongs to a command that begins with WORD number N, counting from
//	               0. The shell knows how to complete commands. More lines may follow, as
//	               above but without a prefix.
//
// If there is no answer, or another one, nothing is completed: the program is older or
// newer than the script. All this happens when a user presses a key, so it changes nothing
// and prints no errors.
//
// The scripts have only what differs between shells: how words are split and quoted, and how
// files and another command's arguments are completed. So they are the same for every version.
// The words are read by options.ReadPart, which also reads a real command line, so the two never
// differ.
//
// The backend is asked for names of locks only where a name is expected, by a handle that only
// lists. A config file must be as trusted as for a run. Names of locks are checked before a shell
// sees them, because somebody else may have chosen them.

// completionLimit is how long an answer may take.
const completionLimit = time.Second

// Command is the subcommand completion.
func Command(e *env.Env) *options.Command {
	return &options.Command{
		Name:  "completion",
		Usage: "print a shell completion script",
		Args:  "bash|zsh|fish",
		Define: func() ([]options.Option, func(*options.Invocation) error) {
			var cursor string
			var quoted bool
			return []options.Option{
					{Name: "cursor", Hidden: true, Value: &cursor, From: options.Arguments},
					{Name: "quoted", Hidden: true, Value: &quoted, From: options.Arguments},
				}, func(r *options.Invocation) error {
					if !r.Given("cursor") {
						return printScript(e.Out, r.Args)
					}
					words := r.Args
					if quoted {
						cursor = unquoteWord(cursor)
						for i, word := range words {
							words[i] = unquoteWord(word)
						}
					}
					return answer(e, r.Line.Commands, words, cursor)
				}
		},
	}
}

func printScript(out io.Writer, args []string) error {
	switch {
	case len(args) == 0 || args[0] == "":
		return output.WithHint(&locks.UsageError{What: "leaderrun completion needs the name of a shell", Have: completions.Shells()},
			"for bash, in ~/.bashrc: eval \"$(leaderrun completion bash)\"")
	case len(args) > 1:
		return locks.Usagef("leaderrun completion takes one argument, but was given %s", output.Quote(args[1]))
	case !slices.Contains(completions.Shells(), args[0]):
		return locks.Unknown("shell", args[0], completions.Shells())
	default:
		_, err := io.WriteString(out, completions.Script(args[0]))
		return err
	}
}

// answer prints the answer, or nothing if that takes too long. The goroutine that is then
// left behind ends with the program.
func answer(e *env.Env, commands []*options.Command, words []string, cursor string) error {
	ctx, cancel := context.WithTimeout(context.Background(), completionLimit)
	defer cancel()
	found := make(chan string, 1)
	go func() { found <- complete(ctx, e, commands, words, cursor).String() }()
	select {
	case text := <-found:
		_, err := io.WriteString(e.Out, text)
		return err
	case <-ctx.Done():
		return nil
	}
}

// unquoteWord removes the quotes and backslashes from a word of a POSIX shell, which may be
// incomplete. Variables and the like stay as they are, because only a shell can expand them.
func unquoteWord(word string) string {
	var out []rune
	var quote, before rune
	for _, r := range word {
		switch {
		case before == '\\':
			if quote == '"' && r != '"' && r != '\\' && r != '$' && r != '`' {
				out = append(out, before)
			}
			out = append(out, r)
			r = 0
		case r == '\\' && quote != '\'':
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		default:
			out = append(out, r)
			r = 0
		}
		before = r
	}
	return string(out)
}
