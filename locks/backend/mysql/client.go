package mysql

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
)

// An options is what the option files say, of what we heed or refuse. It is nil if there is
// no file.
type options map[string]string

// An option is one that we heed or refuse. All others of MySQL's and MariaDB's programs are
// ignored, because they do not say which server, which user or which TLS.
type option struct {
	name    string
	isBool  bool   // it needs no value
	instead string // what to do, as it is refused: otherwise we would not do as the program mysql
}

// allOptions are sorted by what they are about.
var allOptions = [...]option{
	{name: "host"}, {name: "port"}, {name: "socket"}, {name: "protocol"}, {name: "user"}, {name: "password"}, {name: "database"},
	{name: "ssl", isBool: true}, {name: "ssl-mode"}, {name: "ssl-ca"}, {name: "ssl-cert"}, {name: "ssl-key"}, {name: "ssl-verify-server-cert", isBool: true},
	{name: "tls-version"}, {name: "server-public-key-path"}, {name: "get-server-public-key", isBool: true},

	{name: "bind-address", instead: "remove it; the system chooses where connections come from"},
	{name: "dns-srv-name", instead: "give the hosts in the URL"},
	{name: "network-namespace", instead: "start leaderrun in it, with ip netns exec"},
	{name: "password1", instead: "use password"},
	{name: "password2", instead: "use a user with one password"},
	{name: "password3", instead: "use a user with one password"},
	{name: "pipe", isBool: true, instead: "give a host or a socket"},
	{name: "restricted-auth", instead: "use a user who can log in in one way only"},
	{name: "ssl-capath", instead: "give one file in ssl-ca"},
	{name: "ssl-cipher", instead: "let the server restrict its ciphers"},
	{name: "ssl-crl", instead: "name in ssl-ca only authorities without revoked certificates"},
	{name: "ssl-crlpath", instead: "name in ssl-ca only authorities without revoked certificates"},
	{name: "ssl-fips-mode", instead: "set GODEBUG=fips140=on"},
	{name: "ssl-fp", instead: "give the server's certificate in ssl-ca"},
	{name: "ssl-fplist", instead: "give the servers' certificates in ssl-ca"},
	{name: "tls-ciphersuites", instead: "let the server restrict its ciphers"},
	{name: "tls-kex", instead: "let the server restrict its key exchanges"},
	{name: "force-pqc", isBool: true, instead: "let the server restrict its key exchanges"},
	{name: "tls-sni-servername", instead: "use the parameter servername of the URL"},
}

func findOption(name string) *option {
	for i := range allOptions {
		if allOptions[i].name == name {
			return &allOptions[i]
		}
	}
	return nil
}

// globalFiles are what MySQL's programs read first, if they may.
func globalFiles() []string { return []string{"/etc/my.cnf", "/etc/mysql/my.cnf"} }

// openOptions reads one option file or, if it is "", those that MySQL's programs read. Errors
// wrap locks.ErrUsage.
func openOptions(file string, getenv func(string) string, global []string) (*reload.Value[options], error) {
	suffix := cmp.Or(getenv("MARIADB_GROUP_SUFFIX"), getenv("MYSQL_GROUP_SUFFIX"))
	setting, files := "defaults-file", []string{file}
	if file == "" {
		setting, files = "the option file", slices.Clone(global)
		if dir := cmp.Or(getenv("MARIADB_HOME"), getenv("MYSQL_HOME")); dir != "" {
			files = append(files, filepath.Join(dir, "my.cnf"))
		}
		if home := getenv("HOME"); home != "" {
			files = append(files, filepath.Join(home, ".my.cnf"))
		}
		files = slices.DeleteFunc(files, func(f string) bool {
			_, err := os.ReadFile(f)
			return os.IsNotExist(err) || os.IsPermission(err) && slices.Contains(global, f)
		})
		if len(files) == 0 {
			return nil, nil
		}
	}
	var all []string // also those that others include
	note := func(file string) ([]byte, error) {
		text, err := readOptions(file)
		if err == nil {
			all = append(all, file)
		}
		return text, err
	}
	if _, err := parseOptions(files, suffix, note); err != nil {
		return nil, locks.Usagef("%s: %v", setting, err)
	}
	v, err := reload.Open(setting, func(contents [][]byte) (options, error) {
		return parseOptions(files, suffix, func(file string) ([]byte, error) {
			if i := slices.Index(all, file); i >= 0 {
				return contents[i], nil
			}
			return readOptions(file)
		})
	}, all...)
	if err != nil {
		return nil, locks.Usagef("%v", err)
	}
	return v, nil
}

// readOptions reads a file that not everybody can write. The programs of MySQL ignore one that
// everybody can, and we would then use another server. They read one that others can read.
func readOptions(file string) ([]byte, error) {
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("%s can be written by anybody", file)
	}
	return os.ReadFile(file)
}

// parseOptions parses option files as the program mysql of MySQL and MariaDB does: see "Using
// Option Files" in MySQL's manual. The last value of an option counts.
func parseOptions(files []string, suffix string, read func(file string) ([]byte, error)) (options, error) {
	p := parser{read: read, all: options{}}
	for _, group := range []string{"client", "mysql", "client-server", "client-mariadb", "mariadb-client"} {
		p.groups = append(p.groups, group, group+suffix)
	}
	for _, file := range files {
		if err := p.file(file, 0); err != nil {
			return nil, err
		}
	}
	for _, o := range allOptions {
		if value := p.all[o.name]; o.instead != "" && value != "" && !isOff(value) {
			return nil, fmt.Errorf("the backend mysql does not support the option %s: %s", o.name, o.instead)
		}
	}
	if v := p.all["tls-version"]; v != "" && !strings.Contains(v, "TLSv1.2") {
		return nil, errors.New("the backend mysql does not support a tls-version without TLSv1.2: let the server restrict its versions")
	}
	return p.all, nil
}

// A parser collects the options of some groups.
type parser struct {
	read   func(file string) ([]byte, error)
	groups []string
	all    options
}

// file parses a file and those that it includes. An included file begins without a group.
func (p *parser) file(file string, depth int) error {
	text, err := p.read(file)
	if err != nil {
		return err
	}
	group, ours := "", false
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '!':
			err = p.include(line, depth)
		case line[0] == '[':
			name, _, ok := strings.Cut(line[1:], "]")
			if group = strings.TrimRight(name, " \t"); !ok {
				return fmt.Errorf("invalid line %d in %s", n, file) // which may have a password
			}
			ours = slices.ContainsFunc(p.groups, func(g string) bool { return strings.EqualFold(g, group) })
		case group == "":
			return fmt.Errorf("line %d in %s is before the first group", n, file)
		case ours:
			err = p.option(line)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// maxDepth bounds files that include each other, as MySQL does.
const maxDepth = 10

// include reads the file, or the files *.cnf in the directory, that a line names. As for MySQL's
// programs, one that is missing, or not for us to read, is not an error.
func (p *parser) include(line string, depth int) error {
	word, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	files := []string{arg}
	switch {
	case depth == maxDepth:
		return fmt.Errorf("more than %d option files include each other", maxDepth)
	case word == "!includedir":
		entries, err := os.ReadDir(arg)
		if err != nil {
			return err
		}
		files = nil
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".cnf") {
				files = append(files, filepath.Join(arg, e.Name()))
			}
		}
	case word != "!include":
		return nil
	}
	for _, file := range files {
		if err := p.file(file, depth+1); err != nil && !os.IsNotExist(err) && !os.IsPermission(err) {
			return err
		}
	}
	return nil
}

// option notes an option, if it is known. In names, "_" and "-" are the same.
func (p *parser) option(line string) error {
	name, value, set := strings.Cut(uncommented(line), "=")
	name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
	o, off := findOption(name), false
	for o == nil {
		prefix, rest, found := strings.Cut(name, "-")
		if !found || !slices.Contains([]string{"loose", "skip", "disable", "enable"}, prefix) {
			return unabbreviated(name)
		}
		off = off || prefix == "skip" || prefix == "disable"
		name, o = rest, findOption(rest)
	}
	switch {
	case !set && !o.isBool && !off:
		return fmt.Errorf("the option %s has no value", name)
	case !set:
		value = "1"
	}
	if value = optionValue(value); off && isOff(value) {
		value = "1"
	} else if off {
		value = "0"
	}
	p.all[name] = value
	return nil
}

// unabbreviated returns an error if MySQL's programs could take a name for one that we know.
func unabbreviated(name string) error {
	for _, o := range allOptions {
		if name != "" && name != "force" && strings.HasPrefix(o.name, name) { // force is one itself
			return fmt.Errorf("the option %s is abbreviated: write %s", name, o.name)
		}
	}
	return nil
}

// uncommented returns a line without the comment at its end, which a "#" outside quotes begins.
func uncommented(line string) string {
	quote, escaped := rune(0), false
	for i, r := range line {
		switch {
		case (r == '"' || r == '\'') && !escaped && quote == 0:
			quote = r
		case r == quote && !escaped:
			quote = 0
		case r == '#' && quote == 0:
			return line[:i]
		}
		escaped = quote != 0 && r == '\\' && !escaped
	}
	return line
}

// optionValue returns a value without the quotes around it, and with its escape sequences
// replaced.
func optionValue(s string) string {
	s = strings.TrimSpace(s)
	if n := len(s); n > 1 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		s = s[1 : n-1]
	}
	return strings.NewReplacer(`\b`, "\b", `\t`, "\t", `\n`, "\n", `\r`, "\r", `\s`, " ", `\\`, `\`, `\"`, `"`, `\'`, `'`).Replace(s)
}
