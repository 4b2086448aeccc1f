package completions

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestFish makes fish itself report what a line can become.
func TestFish(t *testing.T) {
	t.Parallel()
	require(t, "fish")
	for _, c := range [][2]string{
		{"leaderrun ", "run status watch wait check resign release forget doctor config backends completion version help"},
		{"leaderrun resig", "resign"},
		{"leaderrun --ba", "--backend"},
		{"leaderrun --takeover=", "--takeover=fast --takeover=strict"},
		{"leaderrun -b ", "file file:// toy toy://"},
		{"leaderrun -b file:///usr/loca", "file:///usr/local/"},
		{"leaderrun -l jobs:", "jobs:eu jobs:us@2"},
		{"leaderrun forget jobs:eu jobs:", "jobs:us@2"},
		{"leaderrun --lock=jobs:e", "--lock=jobs:eu"},
		{"leaderrun -l 'jobs:e", "jobs:eu"},
		{"leaderrun -nsTER", "-nsTERM"},
		{"leaderrun --job night\\ ", "night shift"},
		{"leaderrun --id ", ""},
		{"leaderrun --config files", "files.yaml"},
		{"leaderrun --config ~/files", "~/files.yaml"},
		{"leaderrun --config=files", "--config=files.yaml"},
		{"leaderrun --config file\\ ", "file one.txt"},
		{"leaderrun own-t", "own-tool"},
		{"leaderrun -- own-t", "own-tool"},
		{"leaderrun own-tool ", "alpha beta"},
		{"leaderrun -l jobs:eu -- own-tool x al", "alpha"},
		{"leaderrun -- leaderrun --lock=jobs:e", "--lock=jobs:eu"},
		{"../asked/leaderrun a", "asked"},
		{"~/../asked/leaderrun a", "asked"},
		{"../older/leaderrun ", ""},
		{"../newer/leaderrun ", ""},
	} {
		cmd := exec.Command("fish", "--no-config", "-c",
			`set fish_complete_path; source $argv[1]; complete -c own-tool -f -a 'alpha beta'; complete -C "$argv[2]"`, here.path("scripts")+"/leaderrun.fish", c[0])
		cmd.Dir, cmd.Env = here.path("home"), here.env()
		var complaint strings.Builder
		cmd.Stderr = &complaint
		out, err := cmd.Output()
		var got []string
		for line := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got = append(got, word)
		}
		slices.Sort(got)
		want := strings.Fields(c[1])
		if strings.Contains(c[1], "one") || strings.Contains(c[1], "shift") {
			want = []string{c[1]}
		}
		slices.Sort(want)
		if err != nil || complaint.Len() > 0 || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v %s; want %q", c[0], got, err, complaint.String(), want)
		}
	}
}

const fishStart = `
set fish_complete_path
function fish_prompt; echo -n '` + prompt + `'; end
function report; commandline >%[1]s; commandline ''; end
bind \cxp report
complete -c own-tool -f -a 'alpha beta'
`

func TestFishTyped(t *testing.T) {
	t.Parallel()
	require(t, "fish")
	s := start(t, "rc", "source "+here.path("scripts")+"/leaderrun.fish\n"+fishStart, "fish", "--no-config", "-i", "-C", "source $ZDOTDIR/rc")
	s.completes(lines)
	s.completes(argumentLines)
}
