package trial

import (
	"fmt"
	"testing"
)

// FinalMark begins each message of Final, so that whatever reads a log sees it.
const FinalMark = "FINAL: "

// Final fails a test because of a wrong that nothing excuses: two holders at once, a token that
// falls, a job outside its lease, a process that is left, a write accepted after a loss, an exit
// status of 0 for a job that did not run to its end. leaderrun promises these under load above
// all, so such a failure is never repeated, neither by Steady nor by the gate.
//
// It is only for what proves a wrong. What a test that got no processor for a while may see as
// well, such as a limit that is exceeded, is an ordinary failure. So is an overlap, if a stamp
// was taken after the end of the lease of whoever took it.
func Final(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if t, ok := tb.(interface{ end() }); ok {
		t.end()
	}
	tb.Error(FinalMark + fmt.Sprintf(format, args...))
}
