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

// user is the account as whom the service knows us, as far as the credentials
// tell. It is called once the client is there.
func (s *store) user(ctx context.Context) string {
	if s.creds == nil {
		return "anonymous"
	}
	if key := s.creds.JSON(); key != nil {
		return userOf(key)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	email, _ := metadata.EmailWithContext(ctx, "default") // the account of the machine; "": it does not tell
	return email
}

// userOf reads a file of credentials. That of a person has no address in it.
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
