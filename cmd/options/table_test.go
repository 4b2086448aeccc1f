package options

import "testing"

// TestDefaultsAreValues: each default is a valid value, so that it can be set. The values
// are those in help, and do not count as given.
func TestDefaultsAreValues(t *testing.T) {
	t.Parallel()
	for _, o := range NewValues().Table() {
		if err := o.check("its default", o.Default); o.Default != "" && err != nil {
			t.Errorf("--%s: %v", o.Name, err)
		}
	}
	v := NewValues()
	if v.Backend != "file" || v.TTL.D.String() != "15s" || v.Conflict.N != 75 || v.Containment.Value != "auto" || v.Signal.String() != "TERM" {
		t.Errorf("got %+v", v)
	}
	if v.TTL.Given || v.Conflict.Given || v.KillAfter.Given || v.Wait.Given {
		t.Errorf("a default counts as given: %+v", v)
	}
}
