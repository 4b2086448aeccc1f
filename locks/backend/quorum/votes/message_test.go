package votes

import (
	"reflect"
	"strings"
	"testing"
)

var (
	aTerm    = Term{"a", 1}
	anAsk    = Ask{Group: trio, Term: aTerm, Round: 2, TTL: lease, Token: 1 << 63}
	anAnswer = Answer{Voter: "v", Seat: 2, Term: aTerm, Round: 2, Vote: Bound, Token: 3, Group: trio, To: Term{"b", 7}, Named: 9, Left: lease}
)

// TestMessages: what is sent arrives as it was, and a text with more fields is understood.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, m := range []Message{{Lock: "x", Ask: &anAsk}, {Lock: "x", Answer: &anAnswer}, {Lock: "x", Answer: &Answer{Voter: "v", Term: aTerm, Group: trio}}, {Lock: "x", Withdrawal: &Withdrawal{aTerm}}} {
		b, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		more := `{"new":1,` + strings.Replace(string(b[1:]), `"number":`, `"newer":[{}],"number":`, 1)
		for _, text := range []string{string(b), more} {
			if got, err := Decode([]byte(text)); err != nil || !reflect.DeepEqual(got, m) {
				t.Errorf("got %+v, %v; want %+v", got, err, m)
			}
		}
	}
}

// TestLargest: the largest message that is valid fits.
func TestLargest(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("x", MaxID)
	last := Term{id, 1<<64 - 1}
	g := Group{MaxSeats, MaxLongest, id}
	for _, m := range []Message{
		{Ask: &Ask{g, last, 1<<64 - 1, MaxLongest, 1<<64 - 1}},
		{Answer: &Answer{id, MaxSeats - 1, last, 1<<64 - 1, Abstains, 1<<64 - 1, g, last, 1<<64 - 1, MaxLongest}},
	} {
		m.Lock = strings.Repeat("x", MaxName)
		if b, err := Encode(m); err != nil {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

// invalid are messages that are refused.
var invalid = map[string]func(m *Message){
	"nothing":          func(m *Message) { m.Ask = nil },
	"ask and answer":   func(m *Message) { m.Answer = &anAnswer },
	"ask and end":      func(m *Message) { m.Withdrawal = &Withdrawal{aTerm} },
	"answer and end":   func(m *Message) { m.Ask, m.Answer, m.Withdrawal = nil, &anAnswer, &Withdrawal{aTerm} },
	"too long as JSON": func(m *Message) { m.Lock = strings.Repeat("\x00", MaxName) },
	"long name":        func(m *Message) { m.Lock = strings.Repeat("x", MaxName+1) },
	"no round":         func(m *Message) { m.Ask.Round = 0 },
	"no lease":         func(m *Message) { m.Ask.TTL = 0 },
	"too long a lease": func(m *Message) { m.Ask.TTL = lease + 1 },
	"no seats":         func(m *Message) { m.Ask.Group.Seats = 0 },
	"no list":          func(m *Message) { m.Ask.Group.List = "" },
	"no longest":       func(m *Message) { m.Ask.Group.Longest = 0 },
	"no candidate":     func(m *Message) { m.Ask.Term.Candidate = "" },
	"long candidate":   func(m *Message) { m.Ask.Term.Candidate = strings.Repeat("x", MaxID+1) },
	"no term":          func(m *Message) { m.Ask.Term.Number = 0 },
	"no voter":         func(m *Message) { m.Ask, m.Answer = nil, &Answer{Term: aTerm, Group: trio} },
	"bound, by nobody": func(m *Message) {
		m.Ask, m.Answer = nil, &Answer{Term: aTerm, Group: trio, To: aTerm}
	},
	"bound to no number": func(m *Message) {
		m.Ask, m.Answer = nil, &Answer{Voter: "v", Term: aTerm, Group: trio, To: Term{"b", 0}}
	},
	"bound for ever": func(m *Message) {
		m.Ask, m.Answer = nil, &Answer{Voter: "v", Term: aTerm, Group: trio, Left: MaxLongest + 1}
	},
	"bound in the past": func(m *Message) {
		m.Ask, m.Answer = nil, &Answer{Voter: "v", Term: aTerm, Group: trio, Left: -1}
	},
	"a seat below the first": func(m *Message) {
		m.Ask, m.Answer = nil, &Answer{Voter: "v", Term: aTerm, Group: trio, Seat: -1}
	},
	"a seat above the last": func(m *Message) {
		m.Ask, m.Answer = nil, &Answer{Voter: "v", Term: aTerm, Group: trio, Seat: 3}
	},
	"a vote in no round": func(m *Message) {
		m.Ask, m.Answer = nil, &Answer{Voter: "v", Term: aTerm, Group: trio, Vote: Granted}
	},
	"no vote in a round": func(m *Message) {
		m.Ask, m.Answer = nil, &Answer{Voter: "v", Term: aTerm, Group: trio, Round: 1}
	},
	"withdrawal of no ID": func(m *Message) { m.Ask, m.Withdrawal = nil, &Withdrawal{Term{"", 1}} },
}

func TestInvalidMessages(t *testing.T) {
	t.Parallel()
	for name, change := range invalid {
		a := anAsk
		m := Message{Ask: &a}
		change(&m)
		if b, err := Encode(m); err == nil {
			t.Errorf("%s: got %s", name, b)
		}
	}
	b, err := Encode(Message{Ask: &anAsk})
	if err != nil {
		t.Fatal(err)
	}
	for length, want := range map[int]bool{MaxMessage: true, MaxMessage + 1: false} {
		padded := string(b) + strings.Repeat(" ", length-len(b))
		if _, err := Decode([]byte(padded)); (err == nil) != want {
			t.Errorf("a message of %d bytes: %v", length, err)
		}
	}
	for _, text := range []string{"", "{", "{}", `{"ask":{"round":0}}`, strings.Replace(string(b), `"lock":""`, `"lock":1`, 1)} {
		if m, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s: got %+v", text, m)
		}
	}
}

// FuzzDecode: whatever is received can be handled, and what is understood can be sent.
func FuzzDecode(f *testing.F) {
	for _, m := range []Message{{Ask: &anAsk}, {Answer: &anAnswer}, {Withdrawal: &Withdrawal{aTerm}}} {
		b, err := Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		v, c := voters(0, "1")[0], candidate(t, "a")
		switch {
		case m.Ask != nil:
			v.Vote(opened, *m.Ask)
		case m.Answer != nil:
			c.Count(opened, *m.Answer)
		default:
			v.Withdraw(*m.Withdrawal)
		}
	})
}
