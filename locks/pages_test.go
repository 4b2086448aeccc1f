package locks_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// TestPages checks that a list whose cursor does not change is an error, and that Pages
// returns the error of a page.
func TestPages(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tests := []struct {
		name string
		next map[string]string // by cursor; a missing one is an error
		want []string
		err  error
	}{
		{"one page", map[string]string{"": ""}, []string{""}, nil},
		{"several", map[string]string{"": "b", "b": "c", "c": ""}, []string{"", "b", "c"}, nil},
		{"fails", map[string]string{"": "b"}, []string{""}, broken},
		{"stands still", map[string]string{"": "b", "b": "b"}, []string{"", "b"}, locks.ErrUnavailable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			err := locks.Pages(func(cursor string) ([]locks.Listed, string, error) {
				next, ok := test.next[cursor]
				if !ok {
					return nil, "", broken
				}
				if len(got) > 9 {
					t.Fatal("the list does not end")
				}
				return []locks.Listed{{Name: cursor}}, next, nil
			}, func(page []locks.Listed) { got = append(got, page[0].Name) })
			if !slices.Equal(got, test.want) || !errors.Is(err, test.err) {
				t.Errorf("got %q, %v; want %q, %v", got, err, test.want, test.err)
			}
		})
	}
}
