package rows

import "testing"

func TestFollows(t *testing.T) {
	t.Parallel()
	for versions, want := range map[[2]string]bool{
		{"", "1"}: true, {"9", "10"}: true, {"10", "10"}: false, {"10", "9"}: false, {"9", ""}: false, {"9", "x"}: false,
	} {
		if got := Follows(versions[0], versions[1]); got != want {
			t.Errorf("Follows(%q) = %v", versions, got)
		}
	}
}
