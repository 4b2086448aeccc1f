package gcs

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"strings"
	"time"

	"cloud.google.com/go/compute/metadata"
)

// user returns the account that the service knows us by, or "" if the credentials do not
// say. It must be called after open has succeeded.
func (s *store) user(ctx context.Context) string {
	if s.creds == nil {
		return "anonymous"
	}
	if key := s.creds.JSON(); key != nil {
		return userOf(key)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	email, _ := metadata.EmailWithContext(ctx, "default") // of the machine's account; "": unknown
	return email
}

// userOf returns the account that a file of credentials names, or "" if there is none: a
// person's file may lack the address.
func userOf(key []byte) string {
	var f struct {
		Email   string `json:"client_email"`
		Account string `json:"account"`
		As      string `json:"service_account_impersonation_url"`
	}
	if json.Unmarshal(key, &f) != nil {
		return ""
	}
	as := ""
	if f.As != "" {
		as, _, _ = strings.Cut(path.Base(f.As), ":") // …/serviceAccounts/EMAIL:generateAccessToken
	}
	return cmp.Or(as, f.Email, f.Account)
}
