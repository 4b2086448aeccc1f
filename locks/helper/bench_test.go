package helper

import (
	"testing"
)

// BenchmarkRoundTrip measures what the pipe adds to each call of a backend.
func BenchmarkRoundTrip(b *testing.B) {
	l := hold(b, "fake://h/", options())
	for b.Loop() {
		if err := l.Renew(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTerm measures a whole term: start, acquire, release, end. Most of it is the
// start of this test program, which is larger than a helper.
func BenchmarkTerm(b *testing.B) {
	for b.Loop() {
		l := hold(b, "fake://h/", options())
		if err := l.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
