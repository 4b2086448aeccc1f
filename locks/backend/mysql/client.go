package mysql

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
)

// An options is what the section [client] of an option file says. It is nil if there is no
// file. Files that such a file includes are not read.
type options map[string]string

// openOptions reads an option file, or the one in the home directory if there is one. Errors
// wrap locks.ErrUsage.
func openOptions(file, home string) (*reload.Value[options], error) {
	setting := "defaults-file"
	if file == "" && home != "" {
		file, setting = filepath.Join(home, ".my.cnf"), "the option file"
		if _, err := os.Stat(file); os.IsNotExist(err) {
			return nil, nil
		}
	}
	// The programs of MySQL ignore such a file, and we would then use another server. They read
	// one that others can read.
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o002 != 0 {
		return nil, locks.Usagef("%s: %s can be written by anybody", setting, file)
	}
	v, err := reload.Open(setting, func(contents [][]byte) (options, error) { return parseOptions(contents[0]) }, file)
	if err != nil {
		return nil, locks.Usagef("%v", err)
	}
	return v, nil
}

// parseOptions parses an option file as MySQL's programs do: see "Using Option Files" in
// MySQL's manual. In names, "_" and "-" are the same.
func parseOptions(text []byte) (options, error) {
	all := options{}
	section := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || strings.ContainsRune("#;!", rune(line[0])):
			continue
		case line[0] == '[':
			name, _, ok := strings.Cut(line[1:], "]")
			if !ok {
				return nil, fmt.Errorf("invalid line %d", n) // which may have a password
			}
			section = strings.TrimSpace(name)
			continue
		case section != "client":
			continue
		}
		name, value, set := strings.Cut(line, "=")
		if !set {
			value = "1"
		}
		all[strings.ReplaceAll(strings.TrimSpace(strings.SplitN(name, "#", 2)[0]), "_", "-")] = optionValue(value)
	}
	return all, lines.Err()
}

// optionValue returns a value without its quotes, or without the comment after it, and with
// its escape sequences replaced.
func optionValue(s string) string {
	s = strings.TrimSpace(s)
	if quote := s[:min(len(s), 1)]; quote != "" && strings.Contains(`"'`, quote) && strings.Contains(s[1:], quote) {
		s = s[1 : 1+strings.LastIndex(s[1:], quote)]
	} else {
		s, _, _ = strings.Cut(s, " #")
		s = strings.TrimSpace(s)
	}
	return strings.NewReplacer(`\b`, "\b", `\t`, "\t", `\n`, "\n", `\r`, "\r", `\s`, " ", `\\`, `\`).Replace(s)
}
