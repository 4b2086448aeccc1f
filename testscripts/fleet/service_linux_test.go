package fleet

import "testing"

// TestService is a service on three hosts, through faults of all kinds: it runs once at a
// time, and soon after each fault it runs again.
func TestService(t *testing.T) {
	t.Parallel()
	for name, start := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := runServices(t, start(t), size(t, 4, 8))
			r := s.judge()
			t.Logf("%s: %v; exit statuses %v", s.store.name, r, s.exits)
			if len(r.wrong) > 0 {
				t.Errorf("%d violations:\n%s\n%s", len(r.wrong), listed(r.wrong), s.logs())
			}
			if r.terms < 2 {
				t.Errorf("this proves nothing: %v", r)
			}
		})
	}
}
