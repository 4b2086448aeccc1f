package oracle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Leftovers returns the command lines of processes with a cookie in their environment. A
// process that has ended but is not reaped no longer has an environment.
func Leftovers(cookie string) ([]string, error) {
	return processes(func(env []byte) bool { return carries(env, cookie) })
}

// LeftoversOn returns those on one host.
func LeftoversOn(cookie, host string) ([]string, error) {
	return processes(func(env []byte) bool { return on(env, cookie, host) })
}

func processes(with func(env []byte) bool) ([]string, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, errors.New("cannot read /proc")
	}
	var all []string
	for _, dir := range dirs {
		thread, env := living(dir)
		if len(env) == 0 || !with(env) {
			continue // it has ended, or is another user's
		}
		line, _ := os.ReadFile(filepath.Join(thread, "cmdline"))
		all = append(all, strings.ReplaceAll(string(line), "\x00", " "))
	}
	return all, nil
}

// living returns the directory of a process, or that of another thread if its first one
// has ended, and the process's environment.
func living(dir string) (thread string, env []byte) {
	if env, _ := os.ReadFile(filepath.Join(dir, "environ")); len(env) > 0 {
		return dir, env
	}
	threads, _ := os.ReadDir(filepath.Join(dir, "task")) // empty if the process is gone
	for _, t := range threads {
		thread = filepath.Join(dir, "task", t.Name())
		if env, _ := os.ReadFile(filepath.Join(thread, "environ")); len(env) > 0 {
			return thread, env
		}
	}
	return "", nil
}
