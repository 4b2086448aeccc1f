package host

import "testing"

// TestExhaustMemory takes more than a process has, which the kernel kills, and then leaves
// another one alone.
func TestExhaustMemory(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, Memory, Options{})
	big := start(t, h.Command("/bin/sh", "-c", `x=$(head -c 30000000 /dev/zero | tr '\0' x); read y </dev/zero; echo $x`))
	until(t, "it has memory", func() bool {
		n, err := h.memory.number("memory.stat", "anon", "total_rss")
		return err == nil && n > 30_000_000
	})
	if n, err := h.ExhaustMemory(16); n == 0 || err != nil {
		t.Errorf("killed %d, %v", n, err)
	}
	until(t, "it is killed", func() bool { return big.check() != nil })
	out, err := h.Command("/bin/sh", "-c", `x=$(head -c 30000000 /dev/zero | tr '\0' x); echo ${#x}`).Output()
	if string(out) != "30000000\n" || err != nil {
		t.Errorf("after that there is a limit: %q, %v", out, err)
	}
}
