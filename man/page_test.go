package man

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/cmd"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// pages returns the pages by their files.
func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := Pages(".")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d pages, %v", len(files), err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = string(text)
	}
	return all
}

func TestNothingIsStale(t *testing.T) {
	t.Parallel()
	for file, page := range pages(t) {
		now, err := Generate(file, []byte(page))
		if err != nil {
			t.Fatal(err)
		}
		if string(now) != page {
			t.Errorf("%s is out of date: run make generate", file)
		}
	}
}

// TestEachSubcommandHasItsPage checks that each subcommand with options of its own has a
// page; --help does not count. The options of config are all options of run, and are
// described there.
func TestEachSubcommandHasItsPage(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for _, c := range cmd.Commands() {
		if len(c.Shown()) <= 1 {
			continue
		}
		name := "leaderrun"
		if c.Name != "run" {
			name += "-" + c.Name
		}
		page := all[name+".1"]
		wanted := []string{".Dt " + strings.ToUpper(name) + " 1\n", ".Sh NAME\n.Nm " + name + "\n.Nd "}
		if c.Name != "run" {
			wanted = append(wanted, ".Sh SYNOPSIS\n.Nm leaderrun\n.Cm "+c.Name+"\n")
		}
		if c.Name != "config" {
			wanted = append(wanted, begin+"options\n")
			if slices.ContainsFunc(c.Shown(), func(o options.Option) bool { return o.Variable() != "" }) {
				wanted = append(wanted, begin+"variables\n")
			}
		}
		for _, want := range wanted {
			if !strings.Contains(page, want) {
				t.Errorf("%s.1 lacks %q", name, want)
			}
		}
	}
}

func TestEachBackendIsDescribed(t *testing.T) {
	t.Parallel()
	page := pages(t)["leaderrun-backends.7"]
	for _, b := range known.Backends() {
		if !strings.Contains(page, ".Ss "+b.Scheme+"\n") || !strings.Contains(page, begin+"backend "+b.Scheme+"\n") {
			t.Errorf("leaderrun-backends.7 lacks the backend %s", b.Scheme)
		}
	}
}

func TestReferencesExist(t *testing.T) {
	t.Parallel()
	all := pages(t)
	reference := regexp.MustCompile(`Xr (leaderrun[^ ]*) (\d)`)
	for file, page := range all {
		for _, m := range reference.FindAllStringSubmatch(page, -1) {
			if all[m[1]+"."+m[2]] == "" {
				t.Errorf("%s refers to %s(%s), which does not exist", file, m[1], m[2])
			}
		}
	}
}

// TestSynopsis checks that each option in a synopsis is one of its subcommand, and that
// its value has the same name as in the list of options.
func TestSynopsis(t *testing.T) {
	t.Parallel()
	all := cmd.Commands()
	option := regexp.MustCompile(`Fl (\S+)(?: (?:Ar|Cm) (\S+))?`)
	for file, page := range pages(t) {
		_, synopsis, found := strings.Cut(page, ".Sh SYNOPSIS\n")
		if !found {
			continue
		}
		synopsis, _, _ = strings.Cut(synopsis, ".Sh ")
		for _, m := range option.FindAllStringSubmatch(synopsis, -1) {
			if m[1] == "-" {
				continue
			}
			o := find(options.Find(all, subcommandOf(file)).Shown(), m[1])
			if o == nil {
				t.Errorf("%s: there is no option %s", file, m[1])
				continue
			}
			value, _ := o.Phrase()
			switch {
			case (value == "") != (m[2] == ""):
				t.Errorf("%s: the value of %s is %q, not %q", file, m[1], m[2], value)
			case o.Name != "for" && strings.ToLower(value) != m[2]:
				t.Errorf("%s: the value of %s is called %q, not %q", file, m[1], m[2], strings.ToLower(value))
			}
		}
	}
}

// find finds an option by the text after Fl: "-lock" or "l".
func find(all []options.Option, name string) *options.Option {
	for i, o := range all {
		if name == "-"+o.Name || name == o.Short && name != "" {
			return &all[i]
		}
	}
	return nil
}

// TestOptionsInProseExist checks the options in prose: a subcommand's page may mention
// its own options and those of run, any other page all options. Examples may use any.
func TestOptionsInProseExist(t *testing.T) {
	t.Parallel()
	commands := cmd.Commands()
	for file, page := range pages(t) {
		var all, may []options.Option
		about := subcommandOf(file)
		own := options.Find(commands, about) != nil
		for _, c := range commands {
			all = append(all, c.Shown()...)
			if !own || c.Name == about || c.Name == "run" {
				may = append(may, c.Shown()...)
			}
		}
		for _, name := range mentioned(page) {
			if find(may, name) == nil {
				t.Errorf("%s mentions an option -%s, which does not exist", file, name)
			}
		}
		for _, name := range typed(page) {
			if find(all, name) == nil {
				t.Errorf("%s has an example with an option -%s, which does not exist", file, name)
			}
		}
	}
}

var (
	afterFl = regexp.MustCompile(`\bFl ((?:-?[a-zA-Z0-9][a-z-]*(?: , )?)+)`)
	aWord   = regexp.MustCompile(`^-(-[a-z-]+|[a-zA-Z])$`)
	// The end of a leaderrun command line, or of its options.
	ending = regexp.MustCompile(` -- | \| |;|\|\|`)
)

// mentioned returns the options that prose mentions.
func mentioned(page string) []string {
	var names []string
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, ".") {
			continue
		}
		for _, m := range afterFl.FindAllStringSubmatch(line, -1) {
			names = append(names, strings.Split(strings.TrimSuffix(m[1], " , "), " , ")...)
		}
	}
	return names
}

// typed returns the options in examples.
func typed(page string) []string {
	var names []string
	page = strings.ReplaceAll(page, "\\e\n", " ")
	for line := range strings.Lines(page) {
		_, command, found := strings.Cut(" "+line, " leaderrun ")
		if !found || strings.HasPrefix(line, ".") {
			continue
		}
		command = ending.Split(" "+command, 2)[0]
		for word := range strings.FieldsSeq(command) {
			if m := aWord.FindStringSubmatch(word); m != nil {
				names = append(names, m[1])
			}
		}
	}
	return names
}

func TestMakefileInstallsAllSections(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join("..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for file := range pages(t) {
		section := filepath.Ext(file)[1:]
		if want := "man/*." + section + " $(DESTDIR)$(PREFIX)/share/man/man" + section + "/\n"; !strings.Contains(string(makefile), want) {
			t.Errorf("the Makefile does not install %s: it lacks %q", file, want)
		}
	}
}

func TestEachSubcommandIsListed(t *testing.T) {
	t.Parallel()
	page := pages(t)["leaderrun.1"]
	for _, c := range cmd.Commands() {
		if c.Name != "run" && !strings.Contains(page, ".It Cm "+c.Name+"\n") {
			t.Errorf("leaderrun.1 does not list the subcommand %s", c.Name)
		}
	}
}
