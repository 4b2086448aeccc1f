package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// TestWrappersNeedALock: a command that does not name the job needs --lock, and the hint is
// the line to type.
func TestWrappersNeedALock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, hint string }{
		{"sh a.sh", "leaderrun --lock a -- sh a.sh"},
		{"/bin/bash /opt/nightly-backup.sh now", "leaderrun --lock nightly-backup -- /bin/bash /opt/nightly-backup.sh now"},
		{"python3.11 jobs/report.py", "leaderrun --lock report -- python3.11 jobs/report.py"},
		{"/usr/bin/php8.2 a", "leaderrun --lock a -- /usr/bin/php8.2 a"},
		{"sudo -u www python3 x.py", "leaderrun --lock x -- sudo -u www python3 x.py"},
		{"env A=1 job", "leaderrun --lock NAME -- env A=1 job"},
		{"sh -c exit", "leaderrun --lock NAME -- sh -c exit"},
		{"sh", "leaderrun --lock NAME -- sh"},
		{"perl ..", "leaderrun --lock NAME -- perl .."},
		{"powershell.exe a.ps1", "leaderrun --lock a -- powershell.exe a.ps1"},
		{"sh it's", `leaderrun --lock NAME -- sh 'it'\''s'`},
		{"curl.sh x", ""},
		{"./python-job", ""},
		{"7z x", ""},
		{"worker", ""},
	} {
		var b strings.Builder
		s := &session{opt: options.NewValues()}
		args := strings.Fields(tt.args)
		_, err := s.command(args)
		if tt.hint == "" {
			if err != nil || s.opt.Lock == "" {
				t.Errorf("%s: lock %q, %v; want it named after the command", tt.args, s.opt.Lock, err)
			}
			continue
		}
		c := output.NewConsole(&b)
		status := c.Report(err)
		if !errors.Is(err, locks.ErrUsage) || status != output.ExitUsage || !strings.HasSuffix(b.String(), "hint: "+tt.hint+"\n") {
			t.Errorf("%s: status %d, %q; want the hint %q", tt.args, status, b.String(), tt.hint)
		}
		s.opt.Lock = "named"
		if _, err := s.command(args); err != nil {
			t.Errorf("%s with --lock: %v", tt.args, err)
		}
	}
}
