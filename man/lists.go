package man

import (
	"fmt"
	"strings"

	"github.com/leaderrun/leaderrun/cmd"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// optionList describes options, under headings if there are many.
func optionList(headings []string, options []cmd.Option) string {
	var b strings.Builder
	if len(options) <= 15 {
		list(&b, options)
		return b.String()
	}
	for _, heading := range headings {
		if under := withHeading(options, heading); len(under) > 0 {
			fmt.Fprintf(&b, ".Ss %s\n", heading)
			list(&b, under)
		}
	}
	return b.String()
}

func withHeading(options []cmd.Option, heading string) []cmd.Option {
	var under []cmd.Option
	for _, o := range options {
		if o.Heading == heading {
			under = append(under, o)
		}
	}
	return under
}

func list(b *strings.Builder, options []cmd.Option) {
	b.WriteString(".Bl -tag -width Ds\n")
	for _, o := range options {
		fmt.Fprintf(b, ".It %s\n%s", names(o), prose(o.Usage, o.Value, o.Default))
	}
	b.WriteString(".El\n")
}

// names are those of an option, with its value.
func names(o cmd.Option) string {
	s := "Fl -" + o.Name
	if o.Short != "" {
		s = "Fl " + o.Short + " , " + "-" + o.Name
	}
	if o.Value != "" {
		s += " Ar " + strings.ToLower(o.Value)
	}
	return s
}

// variableList says which variable stands for which option.
func variableList(options []cmd.Option) string {
	var b strings.Builder
	for _, o := range options {
		if o.Variable != "" {
			fmt.Fprintf(&b, ".It Ev %s\n.Fl -%s\n", o.Variable, o.Name)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return ".Bl -tag -width LEADERRUN_REQUIRE_CONTAINMENT -compact\n" + b.String() + ".El\n"
}

// keyList lists the keys of a config file.
func keyList(headings []string, options []cmd.Option) string {
	var b strings.Builder
	b.WriteString(".Bl -tag -width Ds -compact\n")
	for _, heading := range headings {
		var keys []string
		for _, o := range withHeading(options, heading) {
			if o.InFile {
				keys = append(keys, ".Cm "+o.Name)
			}
		}
		if len(keys) > 0 {
			fmt.Fprintf(&b, ".It %s\n%s\n", heading, strings.Join(keys, " ,\n"))
		}
	}
	b.WriteString(".El\n")
	return b.String()
}

// facts are what the table of the subcommand backends has of a backend, and more.
func facts(k *backend.Info) string {
	var b strings.Builder
	b.WriteString(".Bl -tag -width Permissions -compact\n")
	fmt.Fprintf(&b, ".It URL\n.Pa %s\n", k.URL)
	for _, f := range []struct{ name, text string }{
		{"Liveness", k.Liveness},
		{"Token", k.Token},
		{"Next", k.Order},
		{"Told by", k.Told},
		{"Permissions", k.Permissions},
		{"Limits", k.Limits},
		{"Price", k.Price},
	} {
		b.WriteString(".It " + f.name + "\n" + words(f.text, ""))
	}
	b.WriteString(".El\n")
	return b.String()
}
