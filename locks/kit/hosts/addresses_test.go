package hosts

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"127.0.0.1:80": "[127.0.0.1:80]", "[::1]:80": "[[::1]:80]", "[::ffff:10.0.0.1]:1": "[10.0.0.1:1]",
		"127.0.0.1": "", "127.0.0.1:http": "", "127.0.0.1:65536": "",
	} {
		got, err := Addresses(t.Context(), name)
		if want == "" && err == nil || want != "" && fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, %v; want %q", name, got, err, want)
		}
	}
}

func TestOurs(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "192.0.2.1": false} {
		if got := Ours(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: got %v", ip, got)
		}
	}
}
