package oracle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Leftovers are the command lines of processes that have a cookie in their
// environment. A process that has ended and is not reaped has none any more.
func Leftovers(cookie string) ([]string, error) {
	return processes(func(env []byte) bool { return Carries(env, cookie) })
}

// LeftoversOn are those of one host.
func LeftoversOn(cookie, host string) ([]string, error) {
	return processes(func(env []byte) bool { return on(env, cookie, host) })
}

func processes(with func(env []byte) bool) ([]string, error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("/proc cannot be read")
	}
	var all []string
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !with(env) {
			continue // it has ended, or is another user's
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		all = append(all, strings.ReplaceAll(string(line), "\x00", " "))
	}
	return all, nil
}
