package cmd

import (
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// hidePasswords overwrites the passwords of URLs in this process's own
// argument vector, so that ps(1) does not show them, and returns a copy of the
// arguments as they were. It is a courtesy: they could be seen until now.
// A password is safe only in the environment or a file.
func hidePasswords(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		secret := passwordIn(arg)
		if secret == "" {
			continue
		}
		args[i] = strings.Clone(arg)
		overwrite(secret)
	}
	return args
}

// passwordIn returns the part of an argument that is the password of a URL,
// sharing its memory, or "".
func passwordIn(arg string) string {
	if value, ok := strings.CutPrefix(arg, "-b"); ok {
		arg = value
	} else if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "--") {
		arg = value
	}
	redacted := locks.RedactText(arg)
	if redacted == arg {
		return ""
	}
	head := 0
	for head < len(redacted) && head < len(arg) && redacted[head] == arg[head] {
		head++
	}
	// RedactText replaces what stands between ":" and "@", or a parameter after "=";
	// go back to that, as the password may begin like its replacement.
	head = strings.LastIndexAny(arg[:head], ":=") + 1
	tail := len(redacted) - (strings.LastIndex(redacted, "xxxxx") + len("xxxxx")) // there may be two
	return arg[head : len(arg)-tail]
}
