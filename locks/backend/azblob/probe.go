package azblob

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// Probe implements [caslease.Prober]: the one server is the container. It makes at most
// four requests, and only reads.
func (s *store) Probe(ctx context.Context, insist func(context.Context, func(context.Context) error) *locks.Error) (locks.Servers, error) {
	p := probe{store: s, Servers: locks.Servers{Product: "Azure Blob Storage", User: s.settings.user()}}
	p.token()
	at := locks.Server{Address: s.settings.service + "/" + s.settings.container}
	var resp *http.Response
	look := func(ctx context.Context) (err error) {
		for range 2 { // the second uses an open connection, so its time is the RTT
			start := time.Now()
			if _, err = s.look(policy.WithCaptureResponse(ctx, &resp), caslease.Key{Name: s.name}); err != nil {
				return err
			}
			at.RTT, at.Ours = time.Since(start), start.Add(time.Since(start)/2)
		}
		return nil
	}
	if err := insist(ctx, look); err != nil {
		p.Servers.Servers = []locks.Server{{Address: at.Address, Error: err.Err.Error(), Class: locks.ServerClass(err)}}
		return p.Servers, nil
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		at.Time = date.Add(time.Second / 2) // a Date is in whole seconds, rounded down
	} else {
		at.Ours = time.Time{}
	}
	if resp.TLS != nil {
		at.TLS, at.Expires = tlsfiles.Security(*resp.TLS, nil)
	}
	p.Servers.Servers = []locks.Server{at}
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	p.account(ctx)
	p.tier(ctx)
	return p.Servers, nil
}

// user describes the credentials.
func (s *settings) user() string {
	switch {
	case s.key != "":
		return "the key of " + s.account
	case s.signed():
		return "a SAS token"
	}
	return "" // only the service knows
}

// A probe collects the findings.
type probe struct {
	store *store
	locks.Servers
}

// token reports when the SAS token ends.
func (p *probe) token() {
	s := p.store.settings
	end := ends(s.token(nil))
	text := "the SAS token ends at " + end.UTC().Format(time.RFC3339)
	switch {
	case !s.signed() || end.IsZero():
	case s.sasFile != nil && time.Until(end) > 0:
		p.Find("token", locks.LevelOK, text+"; its file is read again for each request", "")
	default:
		p.Find("token", locks.LevelWarning, text+", and with it every lease", "replace it in time in a file that sas-file= names")
	}
}

// tier reports whether a blob under the prefix is in the archive tier. It looks at a page of them.
func (p *probe) tier(ctx context.Context) {
	items, _, _ := p.store.items(ctx, "") // who may not list them learns it elsewhere
	for _, b := range items {
		if tier := b.Properties.AccessTier; tier != nil && *tier == container.AccessTierArchive {
			p.Find("tier", locks.LevelError, locks.Printable(*b.Name)+": "+textArchived, hintArchived)
			return
		}
	}
}

// account reports whether a failover can lose what was acknowledged.
func (p *probe) account(ctx context.Context) {
	const check = "replication"
	r, err := p.store.container.GetAccountInfo(ctx, nil)
	switch {
	case err != nil || r.SKUName == nil: // not everybody may ask
		p.Find(check, locks.LevelWarning, "whether the account is replicated to another region, where a failover loses the last changes, cannot be read", "see az storage account show --query sku.name, and use LRS or ZRS")
	case strings.Contains(string(*r.SKUName), "GRS") || strings.Contains(string(*r.SKUName), "GZRS"):
		p.Find(check, locks.LevelWarning, string(*r.SKUName)+": a failover to the other region loses the last changes, and with them locks and tokens", "before and during a failover, stop all runs that use this account; or use an account with LRS or ZRS")
	default:
		p.Find(check, locks.LevelOK, string(*r.SKUName)+", in one region", "")
	}
}
