package run

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// A lock is named after the command unless the user names it. The name of a shell, an
// interpreter or another program that runs what its arguments say is unsuitable: "sh a.sh"
// and "sh b.sh" would exclude each other in the whole fleet. For such commands the user must
// name the lock.

// Interpreters returns programs that run a script, which often is their first argument.
func Interpreters() []string {
	return []string{"ash", "awk", "bash", "bun", "csh", "dash", "deno", "fish", "gawk", "java", "ksh", "lua", "mawk", "mksh", "nawk", "node", "perl", "php",
		"powershell", "pwsh", "pypy", "python", "rbash", "Rscript", "ruby", "sh", "tclsh", "tcsh", "zsh"}
}

// Wrappers returns programs that run another program, or one of many.
func Wrappers() []string {
	return []string{"bundle", "busybox", "chroot", "chrt", "cmd", "docker", "doas", "env", "flock", "gmake", "ionice", "kubectl", "make", "nerdctl",
		"nice", "nohup", "npm", "npx", "nsenter", "parallel", "pnpm", "podman", "poetry", "runuser", "setpriv", "setsid", "ssh", "stdbuf", "su",
		"sudo", "systemd-run", "taskset", "time", "timeout", "toybox", "unshare", "uv", "xargs", "yarn"}
}

// program returns the base name of a command, without a version, or the suffix that programs
// of Windows have in WSL: python for /usr/bin/python3.11.
func program(command string) string {
	name := strings.TrimSuffix(filepath.Base(command), ".exe")
	if bare := strings.TrimRight(name, "0123456789.-"); bare != "" {
		return bare
	}
	return name
}

// LockName returns the name of the lock of a command, if the user does not name it.
func LockName(args []string) (string, error) {
	if name := program(args[0]); slices.Contains(Interpreters(), name) || slices.Contains(Wrappers(), name) {
		return "", output.WithHint(locks.Usagef("--lock is required: %s does not say which job it runs", output.Quote(filepath.Base(args[0]))),
			"leaderrun --lock "+script(args)+" -- "+commandLine(args))
	}
	name := filepath.Base(args[0])
	if err := locks.CheckName(name); err != nil {
		return "", output.WithHint(err, "name the lock with --lock NAME")
	}
	return name, nil
}

// script suggests a name for the lock: the name of the script that the first interpreter in
// a command runs, or NAME.
func script(args []string) string {
	const unknown = "NAME"
	i := slices.IndexFunc(args, func(arg string) bool { return slices.Contains(Interpreters(), program(arg)) })
	if i < 0 || i+1 >= len(args) || strings.HasPrefix(args[i+1], "-") {
		return unknown
	}
	base := filepath.Base(args[i+1])
	name := strings.TrimSuffix(base, filepath.Ext(base))
	if locks.CheckName(name) != nil {
		return unknown
	}
	return name
}

// commandLine returns a command as a user types it in a shell. A long one is cut off.
func commandLine(args []string) string {
	var words []string
	for _, arg := range args {
		arg = locks.RedactText(arg)
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"\\$`;&|<>()*?[]#~!{}") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return locks.Printable(locks.Abbreviate(strings.Join(words, " ")))
}
