package lockstest

import (
	"testing"

	"golang.org/x/sync/semaphore"
)

// A test that is repeated often enough runs with no other beside it.
func TestWiden(t *testing.T) {
	all := semaphore.NewWeighted(width)
	other, p := place{all: all}, place{all: all}
	other.take(1)
	p.take(1)
	p.widen()
	if !all.TryAcquire(1) {
		t.Fatal("after one repetition nothing runs beside the test")
	}
	all.Release(1)
	other.leave()
	p.widen()
	if all.TryAcquire(1) {
		t.Fatal("after two repetitions there is still room beside the test")
	}
	p.leave()
	if !all.TryAcquire(width) {
		t.Fatal("not all of the places were given back")
	}
}
