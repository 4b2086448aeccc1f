package man

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/cmd"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// The comments around a generated part.
const (
	begin = `.\" generated: `
	end   = `.\" end generated`
)

// Pages returns the files of the pages in a directory.
func Pages(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "*.[157]")) }

// Generate returns a page with its generated parts as they should be.
func Generate(file string, page []byte) ([]byte, error) {
	d := cmd.Describe()
	var b strings.Builder
	rest := string(page)
	for {
		before, after, found := strings.Cut(rest, begin)
		b.WriteString(before)
		if !found {
			return []byte(b.String()), nil
		}
		what, old, _ := strings.Cut(after, "\n")
		_, after, closed := strings.Cut(old, end+"\n")
		part, err := generate(d, subcommandOf(file), what)
		if err == nil && !closed {
			err = fmt.Errorf("it has no end")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: generated part %q: %w", file, what, err)
		}
		b.WriteString(begin + what + "\n" + part + end + "\n")
		rest = after
	}
}

// subcommandOf returns the name of the subcommand that a page is about.
func subcommandOf(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	if name == "leaderrun" {
		return "run"
	}
	return strings.TrimPrefix(name, "leaderrun-")
}

func generate(d cmd.Description, subcommand, what string) (string, error) {
	if scheme, ok := strings.CutPrefix(what, "backend "); ok {
		i := slices.IndexFunc(d.Backends, func(b *backend.Info) bool { return b.Scheme == scheme })
		if i < 0 {
			return "", fmt.Errorf("there is no such backend")
		}
		return facts(d.Backends[i]), nil
	}
	if what == "keys" {
		subcommand = "run"
	}
	i := slices.IndexFunc(d.Commands, func(c cmd.Subcommand) bool { return c.Name == subcommand })
	if i < 0 {
		return "", fmt.Errorf("there is no subcommand %q", subcommand)
	}
	switch options := d.Commands[i].Options; what {
	case "options":
		return optionList(d.Headings, options), nil
	case "variables":
		return variableList(options), nil
	case "keys":
		return keyList(d.Headings, options), nil
	}
	return "", fmt.Errorf("nobody knows what that is")
}
