package handle

import (
	"strconv"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

func TestRequest(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "resign", "a\x00\u2028\"\\", strings.Repeat("\x01", locks.MaxRecord)} {
		r := ReadRequest(NewRequest(1<<64-1, text))
		if r == nil || r.Token != 1<<64-1 || r.Text != text {
			t.Errorf("%q came back as %+v", locks.Abbreviate(text), r)
		}
	}
	if one, two := ReadRequest(NewRequest(1, "")), ReadRequest(NewRequest(1, "")); one.Nonce == two.Nonce {
		t.Error("two requests have the same nonce")
	}
}

func TestSenselessRequest(t *testing.T) {
	t.Parallel()
	longest := `{"nonce":"a","token":1,"text":"x"}`
	longest += strings.Repeat(" ", maxRequest-len(longest))
	if ReadRequest([]byte(longest)) == nil || ReadRequest([]byte(longest+" ")) != nil {
		t.Errorf("the longest request has not %d bytes", maxRequest)
	}
	for _, data := range []string{
		"", "\xff", "[]", `"x"`, `{"token":"1"}`, `{"token":-1}`, `{"nonce":"a","token":1,"text":{}}`,
		`{"nonce":"a","token":1,"text":"x"}` + strings.Repeat(" ", 1<<20),
	} {
		if r := ReadRequest([]byte(data)); r != nil {
			t.Errorf("%q was read as %+v", locks.Abbreviate(data), r)
		}
	}
}

// TestInbox: each request is delivered once, and one that nobody has received yet is replaced.
func TestInbox(t *testing.T) {
	t.Parallel()
	in := NewInbox()
	receives := func(want string) {
		t.Helper()
		select {
		case got := <-in.Asked():
			if string(got) != want {
				t.Errorf("got %q, want %q", got, want)
			}
		default:
			if want != "" {
				t.Errorf("got nothing, want %q", want)
			}
		}
	}
	in.Deliver("1", []byte("one"))
	receives("one")
	in.Deliver("1", []byte("one"))
	receives("")
	in.Deliver("2", []byte("two"))
	in.Deliver("3", []byte("three"))
	receives("three")
	in.Deliver("2", []byte("two")) // written late
	in.Deliver("4", []byte(strings.Repeat("x", locks.MaxRecord+1)))
	in.Deliver("5", []byte("\xff"))
	in.Deliver(strings.Repeat("x", maxNonce+1), []byte("x"))
	receives("")
	in.Deliver(strings.Repeat("y", maxNonce), []byte("y"))
	receives("y")
	for i := range 3 * maxSeen {
		in.Deliver(strconv.Itoa(100+i), nil)
	}
	if len(in.seen) > maxSeen {
		t.Errorf("%d requests are remembered", len(in.seen))
	}
}
