package queue_test

import (
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

func TestRequest(t *testing.T) {
	for _, text := range []string{"", "resign", "a\x00\u2028\"\\", strings.Repeat("\x01", locks.MaxRecord)} {
		r := queue.ReadRequest(queue.NewRequest(1<<64-1, []byte(text)))
		if r == nil || r.Token != 1<<64-1 || r.Text != text {
			t.Errorf("%q came back as %+v", locks.Abbreviate(text), r)
		}
	}
	one, two := queue.ReadRequest(queue.NewRequest(1, nil)), queue.ReadRequest(queue.NewRequest(1, nil))
	if one.Nonce == two.Nonce {
		t.Error("two requests have the same nonce")
	}
}

func TestSenselessRequest(t *testing.T) {
	for _, data := range []string{
		"", "\xff", "[]", `"x"`, `{"token":"1"}`, `{"token":-1}`, `{"token":1,"text":{}}`,
		`{"token":1,"text":"` + strings.Repeat("x", locks.MaxRecord+1) + `"}`,
		`{"token":1,"text":"x"}` + strings.Repeat(" ", 1<<20),
	} {
		if r := queue.ReadRequest([]byte(data)); r != nil {
			t.Errorf("%q was read as %+v", locks.Abbreviate(data), r)
		}
	}
}
