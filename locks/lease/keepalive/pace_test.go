package keepalive

import (
	"testing"
	"time"
)

// TestSlewedServer: with a server whose clock runs a tenth too fast, nothing of a job is left when
// the server ends the lease, however long that is. The job is killed J + X before E. At the
// default ttl, and below, all of the lease is used.
func TestSlewedServer(t *testing.T) {
	t.Parallel()
	for ttl := 2 * time.Second; ttl < 24*time.Hour; ttl += ttl / 10 {
		killed, ends := Trusted(ttl)-2*Margin(ttl), ttl*10/11
		if killed >= ends {
			t.Errorf("ttl %v: the job is killed after %v; the server ends the lease after %v", ttl, killed, ends)
		}
		if unused := ttl - Trusted(ttl); unused > ttl/7 || ttl <= fullTTL && unused > ttl/1000 {
			t.Errorf("ttl %v: %v of it are not used", ttl, unused)
		}
	}
}

// TestSilence: a healthy holder may be silent for at most 41 s, and for less than the lease.
func TestSilence(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]time.Duration{15 * time.Second: 8 * time.Second, 100 * time.Second: 41 * time.Second, 24 * time.Hour: 41 * time.Second} {
		if got := Silence(ttl); got != want {
			t.Errorf("ttl %v: %v; want %v", ttl, got, want)
		}
	}
}
