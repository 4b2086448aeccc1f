package man

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/leaderrun/leaderrun/cmd"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// The comments around a generated part.
const (
	begin = `.\" generated: `
	end   = `.\" end generated`
)

// Pages returns the files of the pages in a directory.
func Pages(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "*.[157]")) }

// Generate returns a page with its generated parts up to date.
func Generate(file string, page []byte) ([]byte, error) {
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
		part, err := generate(file, what)
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

func generate(file, what string) (string, error) {
	subcommand := subcommandOf(file)
	if source, heading, ok := strings.Cut(what, ".md "); ok {
		page, err := os.ReadFile(filepath.Join(filepath.Dir(file), "../docs", source+".md"))
		if err != nil {
			return "", err
		}
		return section(string(page), heading)
	}
	if scheme, ok := strings.CutPrefix(what, "backend "); ok {
		b := known.Find(scheme)
		if b == nil {
			return "", fmt.Errorf("there is no such backend")
		}
		return facts(b), nil
	}
	if what == "keys" {
		subcommand = "run"
	}
	if what == "wrappers" {
		return wrapperList(), nil
	}
	c := options.Find(cmd.Commands(), subcommand)
	if c == nil {
		return "", fmt.Errorf("there is no subcommand %q", subcommand)
	}
	switch what {
	case "options":
		return optionList(c.Shown()), nil
	case "variables":
		return variableList(c.Shown()), nil
	case "keys":
		return keyList(c.Shown()), nil
	}
	return "", fmt.Errorf("unknown generated part")
}
