package examples

import (
	"os"
	"os/exec"
	"testing"
)

// TestTerraform checks that terraform-locked passes arguments and exit statuses on, runs once
// whatever the settings are, and refuses wrong usage. Another program stands in for terraform,
// which is in no package for this machine.
func TestTerraform(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program(t, dir, "terraform", `echo "$*"; test "$1" != plan || exit 2`)
	path := "PATH=" + dir + ":" + os.Getenv("PATH")
	store := "LEADERRUN_BACKEND=file://" + dir
	for _, tt := range []struct {
		env    []string
		args   []string
		status int
		out    string
	}{
		{[]string{store, "LEADERRUN_REJOIN=true", "LEADERRUN_RESTART=always"}, []string{"network", "apply", "-input=false"}, 0, "apply -input=false\n"},
		{[]string{store}, []string{"network", "plan", "-detailed-exitcode"}, 2, "plan -detailed-exitcode\n"},
		{[]string{store}, []string{"network"}, 64, ""},
		{nil, []string{"network", "apply"}, 64, ""},
	} {
		c := exec.Command(absolute(t, "terraform/terraform-locked"), tt.args...)
		c.Env = append(tt.env, path, "HOME="+dir)
		p := start(t, c)
		p.exits(tt.status)
		if got := p.stdout.String(); got != tt.out {
			t.Errorf("%q printed %q, want %q", tt.args, got, tt.out)
		}
	}
}
