package oracle

import (
	"fmt"
	"slices"
)

// hooks reports what ran at the same time as a hook of its term: the job begins when nothing of
// --on-elected is left, and --on-resign when nothing of the job is. It also reports jobs of services
// that began without --on-elected, in whichever term.
func (v *Verdict) hooks(terms []*term) {
	for _, t := range terms {
		of := func(what string) bool {
			return slices.ContainsFunc(t.stays, func(s Stay) bool { return s.What == what })
		}
		if t.service && of("job") && !of("elected") {
			v.complain(fmt.Sprintf("token %d: its job began without its hook elected", t.token), t)
		}
		for _, hook := range t.stays {
			for _, s := range t.stays {
				if hook.What == "elected" && s != hook && s.First <= hook.Last || hook.What == "resign" && s != hook && s.Last >= hook.First {
					v.complain(fmt.Sprintf("token %d: %s and its hook %s at one time", t.token, s.What, hook.What), t)
				}
			}
		}
	}
}
