package host

import (
	"bufio"
	"testing"
	"time"
)

// TestFreeze: nothing of the host runs while it is frozen, and all of it continues.
func TestFreeze(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, Freezing, Options{})
	cmd := h.Command("/bin/sh", "-c", "setsid sh -c 'while :; do echo; sleep 0.01; done'")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	lines := make(chan struct{})
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- struct{}{}
		}
	}()
	<-lines
	if err := h.Freeze(); err != nil {
		t.Fatal(err)
	}
	for quiet := false; !quiet; { // what it wrote before
		select {
		case <-lines:
		case <-time.After(200 * time.Millisecond):
			quiet = true
		}
	}
	select {
	case <-lines:
		t.Error("it runs while it is frozen")
	case <-time.After(200 * time.Millisecond):
	}
	if err := h.Thaw(); err != nil {
		t.Fatal(err)
	}
	<-lines
	go func() {
		for range lines { // until the host ends
		}
	}()
}
