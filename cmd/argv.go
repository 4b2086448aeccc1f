package cmd

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// hidePasswords overwrites the passwords of URLs in this process's argument vector, so that
// ps(1) does not show them, and returns a copy of the original arguments. This is only a
// courtesy, because ps could show them until now. A password is safe only in the
// environment or a file.
func hidePasswords(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		secret := passwordIn(arg)
		if i > 0 && (args[i-1] == "-b" || args[i-1] == "--backend") {
			secret = replaced(arg, known.RedactText(arg))
		}
		if secret == "" {
			continue
		}
		args[i] = strings.Clone(arg)
		overwrite(secret)
	}
	return args
}

// passwordIn returns the part of an argument that is the password of a URL, or "". The
// result shares the argument's memory.
func passwordIn(arg string) string {
	if value, ok := strings.CutPrefix(arg, "-b"); ok {
		return replaced(value, known.RedactText(value))
	} else if value, ok := strings.CutPrefix(arg, "--backend="); ok {
		return replaced(value, known.RedactText(value))
	} else if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "--") {
		arg = value
	}
	return replaced(arg, locks.RedactText(arg))
}

// replaced returns the part of a text that is "xxxxx" in its redacted form, or "". The result
// shares the text's memory.
func replaced(arg, redacted string) string {
	if redacted == arg {
		return ""
	}
	head := 0
	for head < len(redacted) && head < len(arg) && redacted[head] == arg[head] {
		head++
	}
	// What is replaced is between ":" and "@", or a parameter after "=", or all. The
	// password may begin like its replacement, so go back to that character.
	head = strings.LastIndexAny(arg[:head], ":=") + 1
	tail := len(redacted) - (strings.LastIndex(redacted, "xxxxx") + len("xxxxx")) // there may be two
	return arg[head : len(arg)-tail]
}

// overwrite fills a part of an argument with "x". On Linux os.Args share the memory of the
// vector that the kernel shows to others. Other strings may be in memory that cannot be
// written.
func overwrite(part string) {
	start := uintptr(unsafe.Pointer(unsafe.StringData(part)))
	if runtime.GOOS != "linux" || !slices.ContainsFunc(os.Args, func(arg string) bool {
		at := uintptr(unsafe.Pointer(unsafe.StringData(arg)))
		return at <= start && start+uintptr(len(part)) <= at+uintptr(len(arg))
	}) {
		return
	}
	b := unsafe.Slice(unsafe.StringData(part), len(part))
	for i := range b {
		b[i] = 'x'
	}
}
