package gcs

import (
	"net/http"
	"testing"
)

// TestServiceDate checks that serviceDate ignores a Date that a cache or a proxy may have
// written.
func TestServiceDate(t *testing.T) {
	t.Parallel()
	const date = "Fri, 02 Jan 2026 03:04:05 GMT"
	for _, tt := range []struct {
		header http.Header
		want   bool
	}{
		{http.Header{"Date": {date}}, true},
		{http.Header{"Date": {date}, "Cache-Control": {"no-store"}}, true},
		{http.Header{}, false},
		{http.Header{"Date": {"yesterday"}}, false},
		{http.Header{"Date": {date, date}}, false},
		{http.Header{"Date": {date}, "Age": {"0"}}, false},
		{http.Header{"Date": {date}, "Via": {"1.1 proxy"}}, false},
		{http.Header{"Date": {date}, "Warning": {`110 - "Response is Stale"`}}, false},
	} {
		if got := serviceDate(tt.header); got.IsZero() == tt.want {
			t.Errorf("%v: got %v", tt.header, got)
		}
	}
}
