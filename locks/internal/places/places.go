package places

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/leaderrun/leaderrun/locks/backend"
)

// generated returns the generated parts by file and name: the text between the comments
// "generated: NAME" and "end generated". They are templates, executed for the backends
// that are helper programs, or in a document, for all of them.
func generated() map[string]map[string]string {
	return map[string]map[string]string{
		"README.md": {
			"backends": `| ` + "`-b`" + ` | takeover after the holder's machine has crashed | needs |
|---|---|---|
{{range .}}| ` + "`{{.Scheme}}`" + `{{if .BuiltIn}} (default){{end}}{{if .ExcludesNobody}}, **excludes nobody**{{end}} | {{with .Takeover}}{{md .}}{{else}}–{{end}} | {{md .Needs}} |
{{end}}`,
		},
		"docs/choosing-a-backend.md": {
			"backends": `| ` + "`-b`" + ` | lock held until | takeover after a crash | token | who is next | a waiter learns by | a holder learns of a request, and of a break | cost |
|---|---|---|---|---|---|---|---|
{{range .}}| ` + "`{{.Scheme}}`" + `{{if .BuiltIn}} (default){{end}}, ` + "`{{.URL}}`" + ` | {{md .HeldUntil}} | at once{{with .Takeover}}; after a machine crash, {{md .}}{{end}} | {{md .Token}} | {{md .Order}} | {{md .NotifiedBy}} | {{md .Learns}} | {{md .Cost}} |
{{end}}`,
			"addresses": `| | URL | parameters | variables |
|---|---|---|---|
{{range .}}| ` + "`{{.Scheme}}` | `{{.URL}}` | {{range $i, $p := .Params}}{{if $i}}, {{end}}`{{$p.Name}}`{{else}}–{{end}} | {{range $i, $v := .Heeded}}{{if $i}}, {{end}}`{{$v}}`{{end}}" + ` |
{{end}}`,
			"permissions": `| | |
|---|---|
{{range .}}| ` + "`{{.Scheme}}`" + ` | {{md .Permissions}} |
{{end}}`,
		},
		"cmd/bundle.go": {
			"imports": `{{range .}}	"github.com/leaderrun/leaderrun/locks/backend/{{.Folder}}"
{{end}}`,
			"backends": `{{range .}}	r.Register("{{.Scheme}}", {{.Folder}}.Open)
{{end}}`,
		},
		"goreleaser.yaml": {
			"helpers": `{{range .}}  - <<: *program
    id: {{.Program}}
    main: ./locks/backend/{{.Folder}}/{{.Program}}
    binary: libexec/leaderrun/{{.Program}}
{{end}}`,
			"archive": `    ids: [leaderrun, leaderrun-monitor{{range .}}, {{.Program}}{{end}}]
`,
			"packages of helpers": `    description: |-
      run a command on at most one machine at a time
      leaderrun takes a lock from a system you already run, starts a command while
      renewing the lock, and has the whole job dead before anyone else can hold it.
      Locks of one machine need nothing else; each other backend is a package of its
      own: {{range $i, $b := .}}{{if $i}}, {{end}}{{.Program}}{{end}}.
    suggests: [{{range $i, $b := .}}{{if $i}}, {{end}}{{.Program}}{{end}}]
`,
			"units": `{{range .}}{{if .Unit}}      - src: locks/backend/{{.Folder}}/{{.Program}}/{{.Unit}}
        strip_parent: true
        info: *info
{{end}}{{end}}`,
			"packages": `{{range $i, $b := .}}  - <<: *package
    id: {{.Program}}
    package_name: {{.Program}}
    ids: [{{.Program}}]
    description: |-
      locks in {{.Product}} for leaderrun{{if .ExcludesNobody}}, which exclude nobody{{end}}
      The helper program by which leaderrun takes locks from {{.Product}}.
    dependencies: [leaderrun]
    suggests: []
{{if .Unit}}    contents:
      - src: locks/backend/{{.Folder}}/{{.Program}}/{{.Unit}}
        dst: /usr/lib/systemd/system/{{.Unit}}
        file_info: *file
      - src: bin/compressed/changelog.gz
        dst: /usr/share/doc/{{"{{"}} .PackageName {{"}}"}}/changelog.gz
        file_info: *file
      - src: LICENSE
        dst: /usr/share/doc/{{"{{"}} .PackageName {{"}}"}}/copyright
        file_info: *file
{{else if $i}}    contents: *documents
{{else}}    contents: &documents
      - src: bin/compressed/changelog.gz
        dst: /usr/share/doc/{{"{{"}} .PackageName {{"}}"}}/changelog.gz
        file_info: *file
      - src: LICENSE
        dst: /usr/share/doc/{{"{{"}} .PackageName {{"}}"}}/copyright
        file_info: *file
{{end}}{{end}}`,
		},
	}
}

// part matches a generated part: the line with its name, its content, and the line that
// ends it.
var part = regexp.MustCompile(`(?ms)^(\s*(?:#|//|<!--) generated: ([a-z ]+)(?: -->)?\n)(.*?)^(\s*(?:#|//|<!--) end generated(?: -->)?\n)`)

// Files returns the paths in the tree of the files with generated parts.
func Files() []string { return slices.Sorted(maps.Keys(generated())) }

// Generate returns a file with its generated parts up to date.
func Generate(file string, old []byte, backends []*backend.Info) ([]byte, error) {
	templates := generated()[file]
	var failed error
	now := part.ReplaceAllFunc(old, func(found []byte) []byte {
		m := part.FindSubmatch(found)
		text, ok := templates[string(m[2])]
		if !ok && failed == nil {
			failed = fmt.Errorf("%s: unknown generated part %q", file, m[2])
		}
		delete(templates, string(m[2]))
		body, err := render(text, listed(file, backends))
		if failed == nil {
			failed = err
		}
		return slices.Concat(m[1], body, m[4])
	})
	for name := range templates {
		failed = fmt.Errorf("%s: missing generated part %q", file, name)
	}
	return now, failed
}

// listed returns the backends for which the parts of a file are made: in a document all, as they
// are in known, and otherwise those that are helper programs, by folder.
func listed(file string, backends []*backend.Info) []*backend.Info {
	if strings.HasSuffix(file, ".md") {
		return backends
	}
	helpers := slices.DeleteFunc(slices.Clone(backends), func(b *backend.Info) bool { return b.BuiltIn })
	slices.SortFunc(helpers, func(a, b *backend.Info) int { return strings.Compare(a.Folder, b.Folder) })
	return helpers
}

// render executes a part's template.
func render(text string, backends []*backend.Info) ([]byte, error) {
	t, err := template.New("").Funcs(template.FuncMap{"md": md}).Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, backends)
	return out.Bytes(), err
}

// words of options and parameters.
var words = regexp.MustCompile(`--[a-z-]+( [A-Z]\b)?|\b[a-z]+=[a-z]*|LISTEN|flock\(2\)`)

// md returns a phrase as Markdown.
func md(phrase string) string { return words.ReplaceAllString(phrase, "`$0`") }
