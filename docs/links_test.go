package docs

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

// TestLinks finds dead links in the documents of the tree: to a missing file or heading,
// or to an invalid address. It does not check whether other people's pages still exist.
func TestLinks(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("..")
	pages := documents(t, tree)
	if !slices.Contains(pages, "README.md") {
		t.Fatalf("README.md is not among the documents: %q", pages)
	}
	for _, page := range pages {
		for _, problem := range deadLinks(t, tree, page) {
			t.Errorf("%s: %s", page, problem)
		}
	}
}

func TestLinksFindsDeadOnes(t *testing.T) {
	t.Parallel()
	const target = "# One\n\n## Two words, `code` & *more*\n\n## One\n\n<a id=\"made\"></a>\n\n```sh\n# no heading\n```\n"
	for _, tt := range []struct {
		text string
		dead int
	}{
		{"[a](other.md) [b](other.md#one) [c](#here) [d](.)\n# Here", 0},
		{"[a](other.md#two-words-code--more) [b](other.md#one-1) [c](other.md#made)", 0},
		{"[a](../docs/other.md) [b](/docs/other.md) [c](<other.md> \"title\")", 0},
		{"[a](https://example.org/x?y#z) <https://example.org> [b](mailto:a@example.org)", 0},
		{"`[a](none.md)` and\n```\n[a](none.md)\n```\n", 0},
		{"![picture](none.png) [a](none.md) [b](none/)", 3},
		{"[a](#none) [b](other.md#none) [c](other.md#no-heading) [d](other.md#one-2)", 4},
		{"[a](../../outside.md) [b](../docs/other.md#One)", 2},
		{"[a](https://) [b](https://exa mple.org/) [c](http:/example.org) [d](htps://example.org)", 4},
		{"[a][ref] [b][none]\n\n[ref]: none.md\n", 2},
		{"[![badge](none.svg)](none.md)", 2},
		{"- [ ] a task\n- an option [default]\n", 0},
		{"<https://>", 1},
	} {
		tree := fstest.MapFS{"docs/page.md": {Data: []byte(tt.text)}, "docs/other.md": {Data: []byte(target)}}
		if got := deadLinks(t, tree, "docs/page.md"); len(got) != tt.dead {
			t.Errorf("%q: got %d dead links, want %d: %q", tt.text, len(got), tt.dead, got)
		}
	}
}

// documents returns the pages of the tree, except for files that were built or do not
// belong to it.
func documents(t *testing.T, tree fs.FS) []string {
	t.Helper()
	var pages []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "dist", "node_modules"}, d.Name()):
			return fs.SkipDir
		case path.Ext(name) == ".md":
			pages = append(pages, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

var (
	fenced    = regexp.MustCompile("(?ms)^ *(```+|~~~+).*?^ *(```+|~~~+) *$")
	spanned   = regexp.MustCompile("(`+)[^`\n]*\n?[^`\n]+(`+)")
	inline    = regexp.MustCompile(`\]\(\s*(<[^>]*>|[^)]*?)(?:\s+"[^"]*")?\s*\)`)
	automatic = regexp.MustCompile(`<([a-z]+://[^>]*)>`)
	defined   = regexp.MustCompile(`(?m)^ {0,3}\[([^\]]+)\]:\s*(\S+)`)
	referring = regexp.MustCompile(`\]\[([^\]]+)\]`)
	heading   = regexp.MustCompile(`(?m)^ {0,3}#{1,6}\s+(.+?)\s*#*\s*$`)
	anchored  = regexp.MustCompile(`<[a-z]+ (?:id|name)="([^"]+)"`)
	linked    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// deadLinks returns what is wrong with the links of a page.
func deadLinks(t *testing.T, tree fs.FS, page string) []string {
	t.Helper()
	text := prose(read(t, tree, page))
	var problems []string
	names := map[string]bool{}
	targets := automatic.FindAllStringSubmatch(text, -1)
	targets = append(targets, inline.FindAllStringSubmatch(text, -1)...)
	for _, m := range defined.FindAllStringSubmatch(text, -1) {
		names[strings.ToLower(m[1])] = true
		targets = append(targets, m[1:])
	}
	for _, m := range referring.FindAllStringSubmatch(text, -1) {
		if !names[strings.ToLower(m[1])] {
			problems = append(problems, fmt.Sprintf("nothing defines [%s]", m[1]))
		}
	}
	for _, m := range targets {
		target := strings.Trim(m[1], "<>")
		if why := dead(t, tree, page, target); why != "" {
			problems = append(problems, fmt.Sprintf("%q %s", target, why))
		}
	}
	return problems
}

// dead returns why a link of a page is dead, or "".
func dead(t *testing.T, tree fs.FS, page, target string) string {
	t.Helper()
	u, err := url.Parse(target)
	switch {
	case err != nil || strings.ContainsAny(target, " \t"):
		return "is not an address"
	case u.Scheme == "mailto":
		return ""
	case u.Scheme != "":
		if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return "is not an address on the web"
		}
		return ""
	}
	name := page
	if strings.HasPrefix(u.Path, "/") {
		name = path.Clean(u.Path[1:]) // GitHub begins at the top of the tree
	} else if u.Path != "" {
		name = path.Join(path.Dir(page), u.Path)
	}
	if _, err := fs.Stat(tree, name); err != nil {
		return "does not exist"
	}
	if u.Fragment != "" && !slices.Contains(anchors(read(t, tree, name)), u.Fragment) {
		return "names a heading that does not exist"
	}
	return ""
}

// anchors returns the places in a page that a link can name, as GitHub derives them from
// its headings.
func anchors(page string) []string {
	var all []string
	seen := map[string]int{}
	text := fenced.ReplaceAllString(page, "")
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		slug := slugOf(linked.ReplaceAllString(m[1], "$1"))
		if n := seen[slug]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", slug, n))
		} else {
			all = append(all, slug)
		}
		seen[slug]++
	}
	for _, m := range anchored.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

func slugOf(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// prose returns a page without its code.
func prose(page string) string {
	return spanned.ReplaceAllString(fenced.ReplaceAllString(page, ""), "code")
}

func read(t *testing.T, tree fs.FS, name string) string {
	t.Helper()
	b, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
