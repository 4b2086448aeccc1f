package register_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/leaderrun/leaderrun/faults/register"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "register")
	for _, c := range []struct {
		token, highest uint64
		accepted       bool
	}{
		{5, 0, true}, {5, 5, true}, {7, 5, true}, {6, 7, false}, {7, 7, true}, {1 << 63, 7, true}, {8, 1 << 63, false},
	} {
		highest, accepted, err := register.Write(file, c.token)
		if err != nil || highest != c.highest || accepted != c.accepted {
			t.Errorf("token %d: got %d, %v, %v; want %d, %v", c.token, highest, accepted, err, c.highest, c.accepted)
		}
	}
}

// TestWritesBesideEachOther checks that concurrent writes lose no accepted token.
func TestWritesBesideEachOther(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "register")
	var wg sync.WaitGroup
	for token := range uint64(50) {
		wg.Go(func() {
			if _, _, err := register.Write(file, token+1); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if highest, _, err := register.Write(file, 0); highest != 50 || err != nil {
		t.Errorf("got %d, %v; want 50", highest, err)
	}
}
