package caslease

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// TestStatusOfLessee: who has the store's lease holds the lock, whatever the state says.
func TestStatusOfLessee(t *testing.T) {
	t.Parallel()
	v := seenAt(0, 0, 0)
	v.Floor, v.Lessee = 7, "someone with another program"
	if got, want := v.status(), (locks.Status{Held: true, Holder: v.Lessee, Token: 7}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestStatusOfUnreadable: a state that makes no sense names no holder.
func TestStatusOfUnreadable(t *testing.T) {
	t.Parallel()
	v := seenAt(0, 0, 0)
	v.unreadable = errors.New("has a state that leaderrun did not write")
	if got := v.status(); got != (locks.Status{}) {
		t.Errorf("got %+v", got)
	}
}

// TestPresentAtTheEnd: a lease that ends at this moment has a time left, because 0 would mean
// that it is unknown.
func TestPresentAtTheEnd(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]time.Duration{10*time.Second - 1: 1, 10 * time.Second: -1, 10*time.Second + 2: -2} {
		if got := seenAt(age, 0, 0).present().Left; got != want {
			t.Errorf("after %v: %v left, want %v", age, got, want)
		}
	}
}

// TestFaultOf: the first cause that matches counts. An error of a context has no text, because
// the engine has a better one.
func TestFaultOf(t *testing.T) {
	t.Parallel()
	no, other := errors.New("no"), errors.New("other")
	is := func(e error) func(error) bool { return func(err error) bool { return errors.Is(err, e) } }
	causes := []Cause{{Is: is(no), Kind: Denied, Hint: "ask"}, {Is: is(no), Kind: Refused}, {Is: is(context.Canceled), Kind: Unsent, Text: "ended"}}
	for err, want := range map[error]Fault{
		no: {Kind: Denied, Text: "plain no", Hint: "ask"}, context.Canceled: {Kind: Unsent, Text: "ended"},
		context.DeadlineExceeded: {}, other: {Text: "plain other"}, fmt.Errorf("read: %w", no): {Kind: Denied, Text: "plain read: no", Hint: "ask"},
	} {
		if got := FaultOf(err, causes, func(err error) string { return "plain " + err.Error() }); got != want {
			t.Errorf("%v: got %+v, want %+v", err, got, want)
		}
	}
	if got := FaultOf(context.Canceled, nil, error.Error); got != (Fault{}) {
		t.Errorf("a context that was cancelled: got %+v", got)
	}
}
