package sample

import "testing"

func TestAdd(t *testing.T) {
	c := Counter{limit: 2}
	for _, want := range []bool{false, true} {
		if got := c.Add(false); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
