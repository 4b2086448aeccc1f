package caslease

import (
	"bytes"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
)

// What a lease relies on must be seen to have moved. The conditions of later writes, and
// runs that watch a cell, rely on its Version; runs that judge a lease by the store's clock
// rely on Updated. So each write of ours on which a lease depends changes something (a
// nonce, the state, or the counter of renewals), and an answer that does not show the change
// is a failure: the server may be an emulator that does less than the real store.
//
// If the store's clock was set back, the first write after that fails, and later ones are
// compared with that one.

// An unmovedError is about a change that the store accepted but that others cannot see.
type unmovedError struct{ cell, field, before, after, hint string }

func (e *unmovedError) Error() string {
	return fmt.Sprintf("the store accepted a change of the %s but did not raise its %s (%s, then %s)", e.cell, e.field, e.before, e.after)
}

func (e *unmovedError) fault() causes.Fault { return causes.Fault{Kind: unmoved, Hint: e.hint} }

// A stuckError is about a store that refuses changes and says that the cell has changed, while reads
// show the same Version as before.
type stuckError struct{ cell, hint string }

func (e *stuckError) Error() string {
	return "the store refuses each write as if the " + e.cell + " had changed, which it has not"
}

func (e *stuckError) fault() causes.Fault { return causes.Fault{Kind: settled, Hint: e.hint} }

// checkChanged returns an error if a view's Version does not show that the cell has changed
// since an earlier view.
func (t *Traits) checkChanged(v, since *view) error {
	if v.Version == since.Version || t.Follows != nil && !t.Follows(since.Version, v.Version) {
		return &unmovedError{t.Cell, t.Version, since.Version, v.Version, t.HintUnmoved}
	}
	return nil
}

// moves reports whether a change must be seen to have moved the cell. If the store has leases
// of its own, nobody judges a lease by the cell.
func (t *Traits) moves(to Value) bool { return t.Expiry != ByLease || !to.Silent }

// checkRenewed returns an error if a view does not show others that a lease began after the
// one in an earlier view.
func (t *Traits) checkRenewed(v, since *view) error {
	if err := t.checkChanged(v, since); err != nil {
		return err
	}
	if (t.Expiry == ByStamps || t.Expiry == ByClock) && !v.Updated.After(since.Updated) {
		return &unmovedError{t.Cell, t.Updated, since.Updated.Format(time.RFC3339Nano), v.Updated.Format(time.RFC3339Nano), t.HintUnmoved}
	}
	return nil
}

// has reports whether a cell already has a value.
func (v *view) has(to Value) bool {
	return (to.State == "" || to.State == v.State) && (to.Record == nil || v.Record != nil && bytes.Equal(to.Record, v.Record))
}
