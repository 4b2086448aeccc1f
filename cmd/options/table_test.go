package options

import (
	"testing"

	"github.com/urfave/cli/v2"
)

// TestDefaultsAreWhatHelpSays compares the texts of help with the values.
func TestDefaultsAreWhatHelpSays(t *testing.T) {
	t.Parallel()
	fresh := NewValues().Table()
	for i, o := range NewValues().Table() {
		v, ok := o.Value.(cli.Generic)
		if !ok || o.Default == "" {
			continue
		}
		if err := v.Set(o.Default); err != nil {
			if o.Name != "kill-after" { // says more than a value
				t.Errorf("--%s: its default makes no sense: %v", o.Name, err)
			}
			continue
		}
		if is := fresh[i].Value.(cli.Generic); is.String() != v.String() {
			t.Errorf("--%s is %s by default, and help says %s", o.Name, is, v)
		}
	}
}
