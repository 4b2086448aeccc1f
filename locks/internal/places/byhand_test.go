package places

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks/backend"
)

// A place is a file in which a person writes something for each backend.
type place struct {
	file  func(*backend.Info) string   // its path in the tree, or "" if this backend needs no such file
	wants func(*backend.Info) []string // what the file must contain
	part  string                       // a pattern for the part of the file
}

// whole is a pattern for a whole file.
const whole = "(?s).*"

// byHand lists the places. What has to be written there is prose, a test or a program:
// the texts that are searched for are the least that shows its presence.
var byHand = map[string]place{
	"when to choose it":         {in("docs/choosing-a-backend.md"), texts(". **`SCHEME`**"), whole},
	"its limits":                {in("docs/choosing-a-backend.md"), texts("- **`SCHEME`**:"), whole},
	"its section of the manual": {in("man/leaderrun-backends.7"), section, `(?s)\.Ss SCHEME\n.*?(\n\.S|$)`},
	"the changes":               {in("CHANGELOG.md"), texts("`SCHEME`"), whole},
	"its documentation":         {in("locks/backend/FOLDER/doc.go"), documentation, whole},
	"its helper program":        {ofHelper("locks/backend/FOLDER/PROGRAM/main.go"), texts(`helper.Main("SCHEME", FOLDER.Open)`), whole},
	"its conformance":           {ofExclusion("locks/backend/FOLDER/conformance_test.go"), texts("lockstest.Run("), whole},
	"the abilities it claims":   {ofExclusion("locks/backend/FOLDER/conformance_test.go"), texts(".Abilities"), "(?i)known[.]FOLDER[.]Abilities"},
	"its settings":              {in("locks/backend/FOLDER/described_test.go"), texts("backendtest.Settings("), whole},
	"its script":                {in("testscripts/SCHEME.txtar"), texts("leaderrun "), whole},
	"the faults it meets":       {in("faults/stores_linux_test.go"), texts(`backend: "FOLDER"`), whole},
	"the server of its script":  {ofHelper("testscripts/servers_test.go"), texts(`"SCHEME":`), whole},
}

// in returns a file for each backend.
func in(file string) func(*backend.Info) string {
	return func(b *backend.Info) string { return about(b, file) }
}

// ofHelper returns a file for each backend that is a helper program.
func ofHelper(file string) func(*backend.Info) string {
	return func(b *backend.Info) string {
		if b.BuiltIn {
			return ""
		}
		return about(b, file)
	}
}

// ofExclusion returns a file for each backend that excludes others, as its tests check.
func ofExclusion(file string) func(*backend.Info) string {
	return func(b *backend.Info) string {
		if b.ExcludesNobody {
			return ""
		}
		return about(b, file)
	}
}

func texts(all ...string) func(*backend.Info) []string {
	return func(b *backend.Info) []string {
		var wanted []string
		for _, text := range all {
			wanted = append(wanted, about(b, text))
		}
		return wanted
	}
}

func about(b *backend.Info, text string) string {
	return strings.NewReplacer("SCHEME", b.Scheme, "FOLDER", b.Folder, "PROGRAM", b.Program()).Replace(text)
}

// section returns what the manual must have: parameters and variables, except ambient ones.
func section(b *backend.Info) []string {
	all := []string{".Ss " + b.Scheme + "\n", "generated: backend " + b.Scheme + "\n"}
	for _, p := range b.Params {
		all = append(all, p.Name+"=")
	}
	for _, v := range b.Heeded() {
		all = append(all, ".Ev "+v)
	}
	return all
}

func documentation(b *backend.Info) []string {
	return append(b.Heeded(), "# URL\n", "# Liveness\n", "# Fencing token\n", "# Permissions\n", "# Limits\n")
}

// lacks returns what a place lacks for a backend.
func (p place) lacks(tree fs.FS, b *backend.Info) []string {
	file := p.file(b)
	if file == "" {
		return nil
	}
	text, _ := fs.ReadFile(tree, file) // a missing file lacks everything
	text = regexp.MustCompile(about(b, p.part)).Find(text)
	var missing []string
	for _, want := range p.wants(b) {
		if !has(text, want) {
			missing = append(missing, want)
		}
	}
	return missing
}

// has reports whether a text contains a whole word: "cert=" is not in "cacert=".
func has(text []byte, want string) bool {
	pattern := regexp.QuoteMeta(want)
	if startsWord.MatchString(want) {
		pattern = `\b` + pattern
	}
	return regexp.MustCompile(pattern).Match(text)
}

var startsWord = regexp.MustCompile(`^\w`)

// firstCell is the name at the beginning of a row of a Markdown table.
var firstCell = regexp.MustCompile("^\\| `([a-z0-9]+)`")

// unlisted returns the backends that are missing from a table on a page. A table is about
// backends if it has rows for two of them.
func unlisted(page string, backends []*backend.Info) []string {
	var lacking, row []string
	for line := range strings.Lines(page + "\n\n") {
		if strings.HasPrefix(line, "|") {
			if m := firstCell.FindStringSubmatch(line); m != nil {
				row = append(row, m[1])
			}
			continue
		}
		lacking = append(lacking, absent(row, backends)...)
		row = nil
	}
	return lacking
}

// absent returns the helpers that are missing from a table whose rows begin with these
// words.
func absent(rows []string, backends []*backend.Info) []string {
	var missing []string
	found := 0
	for _, b := range backends {
		switch {
		case slices.Contains(rows, b.Scheme):
			found++
		case !b.BuiltIn:
			missing = append(missing, b.Scheme)
		}
	}
	if found < 2 {
		return nil
	}
	return missing
}
