package locks_test

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

func TestNearest(t *testing.T) {
	known := []string{"etcd", "file", "consul", "postgres", "kubernetes", "zk", "cacert", "cert", "key"}
	for _, tt := range []struct{ word, want string }{
		{"etcd", "etcd"},
		{"ectd", "etcd"}, // two neighbours swapped are one edit
		{"etc", "etcd"},
		{"etcdd", "etcd"},
		{"fiel", "file"},
		{"xtxd", ""}, // a short word allows one edit
		{"cosnl", "consul"},
		{"postgers", "postgres"},
		{"postgresql", "postgres"},
		{"kubernets", "kubernetes"},
		{"cacrt", "cacert"},
		{"ceert", "cert"},
		{"k", "zk"},
		{"", ""},
		{"redis", ""},
		{"etcdctl", ""},
	} {
		if got := locks.Nearest(tt.word, known); got != tt.want {
			t.Errorf("Nearest(%q) = %q; want %q", tt.word, got, tt.want)
		}
	}
	if got := locks.Nearest("etcd", nil); got != "" {
		t.Errorf("Nearest without known words = %q", got)
	}
}

// TestNearestPrefersTheNearer lists the nearer word second.
func TestNearestPrefersTheNearer(t *testing.T) {
	if got := locks.Nearest("cacertt", []string{"cacer", "cacert"}); got != "cacert" {
		t.Errorf("got %q; want the one that is one edit away", got)
	}
	if got := locks.Nearest("abcdef", []string{"abcdeg", "abcdeh"}); got != "abcdeg" {
		t.Errorf("got %q; want the first of two equally near words", got)
	}
}
