package gcs

import (
	"fmt"
	"time"
)

// What a lease relies on must be seen to have moved. The preconditions of the next
// write, and those who watch an object, rely on its metageneration; those who judge
// a lease by the service's clock rely on "updated". The service's documentation
// promises of both that they move with a change of metadata [1]. It promises
// nothing of a write that changes nothing, so each write of ours that a lease
// depends on changes something: a nonce, the state, or a counter of renewals. And
// as what answers may be an emulator that does less, an answer that does not show
// it is a failure.
//
// Two changes have one "updated" only if both came within a millisecond, and the
// answer to the first travels between ours. If the service's clock was set back, the
// first write after that fails, and the next ones are compared with what it wrote.
//
// [1] https://cloud.google.com/storage/docs/json_api/v1/objects

// An unmovedError is about a change that was accepted, and that others cannot see.
type unmovedError struct{ field, before, after string }

func (e *unmovedError) Error() string {
	return fmt.Sprintf("a change of the object was accepted, and did not raise its %s (%s, then %s)", e.field, e.before, e.after)
}

// changed is why a view cannot be told from an earlier one.
func (v *view) changed(since *view) error {
	if v.generation == since.generation && v.metageneration <= since.metageneration {
		return &unmovedError{"metageneration", fmt.Sprint(since.metageneration), fmt.Sprint(v.metageneration)}
	}
	return nil
}

// renewed is why a view does not show others that a lease began after an earlier one.
func (v *view) renewed(since *view) error {
	if err := v.changed(since); err != nil {
		return err
	}
	if !v.updated.After(since.updated) {
		return &unmovedError{`"updated"`, since.updated.Format(time.RFC3339Nano), v.updated.Format(time.RFC3339Nano)}
	}
	return nil
}

// has reports that the metadata has some values already.
func (v *view) has(metadata map[string]string) bool {
	for k, text := range metadata {
		if there, ok := v.metadata[k]; !ok || there != text {
			return false
		}
	}
	return true
}
