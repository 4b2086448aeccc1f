package man

import (
	"fmt"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/run"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// optionList describes options, under headings if there are many.
func optionList(all []options.Option) string {
	var b strings.Builder
	if len(all) <= 15 {
		list(&b, all)
		return b.String()
	}
	for _, heading := range options.Groups {
		if under := withHeading(all, heading); len(under) > 0 {
			fmt.Fprintf(&b, ".Ss %s\n", heading)
			list(&b, under)
		}
	}
	return b.String()
}

func withHeading(all []options.Option, heading string) []options.Option {
	var under []options.Option
	for _, o := range all {
		if o.Group == heading {
			under = append(under, o)
		}
	}
	return under
}

func list(b *strings.Builder, all []options.Option) {
	b.WriteString(".Bl -tag -width Ds\n")
	for _, o := range all {
		value, text := o.Phrase()
		fmt.Fprintf(b, ".It %s\n%s", names(o), prose(text, value, o.Default))
	}
	b.WriteString(".El\n")
}

// names returns the names of an option, with its value.
func names(o options.Option) string {
	s := "Fl -" + o.Name
	if o.Short != "" {
		s = "Fl " + o.Short + " , " + "-" + o.Name
	}
	if value, _ := o.Phrase(); value != "" {
		s += " Ar " + strings.ToLower(value)
	}
	return s
}

// variableList says which variable belongs to which option.
func variableList(all []options.Option) string {
	var b strings.Builder
	for _, o := range all {
		if name := o.Variable(); name != "" {
			fmt.Fprintf(&b, ".It Ev %s\n.Fl -%s\n", name, o.Name)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return ".Bl -tag -width LEADERRUN_HEALTH_START_PERIOD -compact\n" + b.String() + ".El\n"
}

// keyList lists the keys of a config file.
func keyList(all []options.Option) string {
	var b strings.Builder
	b.WriteString(".Bl -tag -width Ds -compact\n")
	for _, heading := range options.Groups {
		var keys []string
		for _, o := range withHeading(all, heading) {
			if o.From == options.Anywhere {
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

// wrapperList lists the programs that need --lock.
func wrapperList() string {
	var b strings.Builder
	b.WriteString(".Bl -tag -width Ds -compact\n")
	for _, kind := range []struct {
		name  string
		names []string
	}{{"shells and interpreters", run.Interpreters()}, {"other wrappers", run.Wrappers()}} {
		fmt.Fprintf(&b, ".It %s\n.Cm %s\n", kind.name, strings.Join(kind.names, " ,\n.Cm "))
	}
	b.WriteString(".El\n")
	return b.String()
}

// takeover says when another gets the lock after a crash.
func takeover(k *backend.Info) string {
	if k.Takeover == "" {
		return "at once"
	}
	return "at once; after a machine crash, " + k.Takeover
}

// facts lists what the table of leaderrun backends shows of a backend, and more.
func facts(k *backend.Info) string {
	var b strings.Builder
	b.WriteString(".Bl -tag -width Permissions -compact\n")
	fmt.Fprintf(&b, ".It URL\n.Pa %s\n", k.URL)
	for _, f := range []struct{ name, text string }{
		{"Held until", k.HeldUntil},
		{"Takeover", takeover(k)},
		{"Token", k.Token},
		{"Order", k.Order},
		{"Notified by", k.NotifiedBy},
		{"Learns", "the holder, of a request and of a break: " + k.Learns},
		{"Permissions", k.Permissions},
		{"Limits", k.Limits},
		{"Cost", k.Cost},
	} {
		b.WriteString(".It " + f.name + "\n" + words(f.text, ""))
	}
	fmt.Fprintf(&b, ".It Variables\n.Ev %s\n", strings.Join(k.Heeded(), " ,\n.Ev "))
	b.WriteString(".El\n")
	return b.String()
}
