package caslease

import (
	"bytes"
	"fmt"
	"time"
)

// What a lease relies on must be seen to have moved. The conditions of the next write,
// and those who watch a cell, rely on its Version; those who judge a lease by the
// store's clock rely on Updated. So each write of ours that a lease depends on changes
// something (a nonce, the state, or a counter of renewals), and an answer that does not
// show it is a failure: what answers may be an emulator that does less than the store.
//
// If the store's clock was set back, the first write after that fails, and the next
// ones are compared with what it wrote.

// An unmovedError is about a change that was accepted, and that others cannot see.
type unmovedError struct{ cell, field, before, after, hint string }

func (e *unmovedError) Error() string {
	return fmt.Sprintf("a change of the %s was accepted, and did not raise its %s (%s, then %s)", e.cell, e.field, e.before, e.after)
}

func (e *unmovedError) fault() Fault { return Fault{Kind: unmoved, Hint: e.hint} }

// changed is why a view cannot be told from an earlier one.
func (t *Traits) changed(v, since *view) error {
	if v.Version == since.Version || t.Follows != nil && !t.Follows(since.Version, v.Version) {
		return &unmovedError{t.Cell, t.Version, since.Version, v.Version, t.HintUnmoved}
	}
	return nil
}

// renewed is why a view does not show others that a lease began after an earlier one.
func (t *Traits) renewed(v, since *view) error {
	if err := t.changed(v, since); err != nil {
		return err
	}
	if t.Expiry != ByWatching && !v.Updated.After(since.Updated) {
		return &unmovedError{t.Cell, t.Updated, since.Updated.Format(time.RFC3339Nano), v.Updated.Format(time.RFC3339Nano), t.HintUnmoved}
	}
	return nil
}

// has reports that a cell has a value already.
func (v *view) has(to Value) bool {
	return (to.State == "" || to.State == v.State) && (to.Record == nil || v.Record != nil && bytes.Equal(to.Record, v.Record))
}
