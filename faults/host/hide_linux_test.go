package host

import "testing"

// TestHide checks that the one of two children that is another user's is hidden, and is
// killed nevertheless.
func TestHide(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, Hidden, Options{})
	c := h.Command("/bin/sh", "-c", `
		sleep 1000 & seen=$!
		setpriv --reuid 65534 sleep 1001 & other=$!
		while test -e /proc/$other; do sleep 0.01; done
		test -e /proc/$seen && test -e /proc/$$ && ! test -e /proc/1 && kill $seen $other && wait; echo $?`)
	c.Hide()
	if out, err := c.CombinedOutput(); err != nil || string(out) != "0\n" {
		t.Errorf("%q, %v", out, err)
	}
}
