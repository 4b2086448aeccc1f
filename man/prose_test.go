package man

import "testing"

func TestProse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ usage, value, def, want string }{
		{"give up at once", "", "", "Give up at once.\n"},
		{"NAME of the lock (default: the base name of COMMAND)", "NAME", "",
			".Ar name\nof the lock.\nThe default is the base name of\n.Ar command .\n"},
		{"wait DURATION (default: no limit); or not", "DURATION", "",
			"Wait\n.Ar duration ;\nor not.\nThe default is no limit.\n"},
		{"send KILL DURATION after the signal", "DURATION", "5s", "Send KILL\n.Ar duration\nafter the signal.\nThe default is 5s.\n"},
		{"as --ttl, or (-E; LEADERRUN_LOCK) says", "", "", "As\n.Fl -ttl ,\nor\n.Fl ( E ;\n.Ev LEADERRUN_LOCK )\nsays.\n"},
		{"through $SHELL -c as flock(1)", "", "", "Through\n.Ev SHELL\n.Fl c\nas\n.Xr flock 1 .\n"},
		{`.dot and \ in ~`, "", "", "\\&.dot and \\e in \\(ti.\n"},
	} {
		if got := prose(c.usage, c.value, c.def); got != c.want {
			t.Errorf("prose(%q): got\n%s\nwant\n%s", c.usage, got, c.want)
		}
	}
}

func TestSection(t *testing.T) {
	t.Parallel()
	const page = "# Page\n\nNo.\n\n## One\n\nA **bold** `word`, `--wait 5s`\n(`cat x`). See\n[leaderrun(1)](x.md#y).\n\n- FreeBSD has *two*\n- items. Here.\n\n```sh\nblock\n```\n\nAfter it.\n\n## Two\n\nNo.\n"
	const want = "A bold\n.Cm word ,\n.Fl -wait Cm 5s\n.Cm ( cat x ) .\nSee\n.Xr leaderrun 1 .\n.Bl -bullet\n.It\n.Fx\nhas\n.Em two\n.It\nitems.\nHere.\n.El\n"
	if got, err := section(page, "One"); got != want || err != nil {
		t.Errorf("got\n%s\n(%v), want\n%s", got, err, want)
	}
	if _, err := section(page, "None"); err == nil {
		t.Error("a missing heading is not an error")
	}
}
