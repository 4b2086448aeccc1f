package oracle

import (
	"fmt"
	"os"
	"strings"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// TakenAway is the kind of fault that takes the lock away from a term.
const TakenAway = "lock taken away"

// WhyTaken is the reason that an operator gives to the holder of a term.
func WhyTaken(token uint64) string { return fmt.Sprintf("the operator's word to token %d.", token) }

// exitLost is the status of a leaderrun that has lost its lock.
const exitLost = 76

// few holders may miss by chance why they lost the lock.
const few = 3

// taken reports terms that went on although an operator was told that their lock was taken away:
// no renewal can succeed after that. It also reports holders that do not say why they lost it. A
// holder on a busy machine may miss that, so all of them must.
func (v *Verdict) taken(x *index, all []trace.Entry) {
	said := v.logged()
	asked, told := 0, 0
	for _, e := range all {
		t := x.term(e)
		if t == nil {
			continue
		}
		if t.Last > e.Expiry {
			v.complain(fmt.Sprintf("taken away: token %d was there %v after an operator took its lock away, and %v after its lease",
				t.token, t.Last.Sub(e.At), t.Last.Sub(e.Expiry)), t)
		}
		if t.status == exitLost && !v.harmed(t.host, e.Call, t.ended, TakenAway) {
			asked++
			if strings.Contains(said, WhyTaken(t.token)) {
				told++
			}
		}
	}
	if asked >= few && told == 0 {
		v.complain(fmt.Sprintf("taken away: none of %d holders says by whom and why", asked))
	}
}

// logged returns all that leaderruns have printed.
func (v *Verdict) logged() string {
	var s strings.Builder
	for _, file := range v.options.Logs {
		text, _ := os.ReadFile(file) // missing if nothing was started; crashed reports other errors
		s.Write(text)
	}
	return s.String()
}
