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
