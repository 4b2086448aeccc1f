package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sources returns the source files of the programs.
func sources(t *testing.T) (files []string) {
	t.Helper()
	for _, top := range []string{"cmd", "runner", "locks"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				files = append(files, path)
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// texts returns all string literals of the programs, separated by NUL.
func texts(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, path := range sources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					b.WriteString(text + "\x00")
				}
			}
			return true
		})
	}
	return b.String()
}

// messages returns the messages in the first columns of the tables below "By message".
func messages(text string) (all []string) {
	_, text, _ = strings.Cut(text, "\n## By message\n")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// missing returns the parts of messages that are in no text.
func missing(all []string, texts string) (parts []string) {
	for _, message := range all {
		for part := range strings.SplitSeq(message, "…") {
			if part = strings.TrimSpace(part); part != "" && !strings.Contains(texts, part) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// TestMessages checks that leaderrun can print each message that troubleshooting.md
// explains.
func TestMessages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	all, texts := messages(string(text)), texts(t)
	if len(all) < 50 {
		t.Errorf("found only %d messages", len(all))
	}
	for _, part := range missing(all, texts) {
		t.Errorf("no message of leaderrun has %q", part)
	}
	if got := missing([]string{"the job is … and … nonsense"}, texts); len(got) != 1 {
		t.Errorf("the missing parts of an invented message: %q", got)
	}
}
