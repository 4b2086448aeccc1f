package spanner

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// Probe implements [caslease.Prober]: the one server is the service. It only reads.
func (s *store) Probe(ctx context.Context, insist func(context.Context, func(context.Context) error) *locks.Error) (locks.Servers, error) {
	found := locks.Servers{Product: "Google Cloud Spanner"}
	if s.client.settings.anonymous() {
		found.Product = "an emulator of Google Cloud Spanner"
	}
	server := locks.Server{Address: cmp.Or(s.client.settings.endpoint, "https://spanner.googleapis.com")}
	if err := insist(ctx, func(ctx context.Context) error { return s.ask(ctx, &server) }); err != nil {
		server.Error, server.Class = err.Err.Error(), locks.ServerClass(err)
		found.Servers = []locks.Server{server}
		return found, nil
	}
	found.Servers = []locks.Server{server}
	s.findPolicies(ctx, insist, &found)
	return found, nil
}

// ask asks for the service's clock, twice: the second request has an open connection and a
// session, so its time is the RTT.
func (s *store) ask(ctx context.Context, to *locks.Server) error {
	for range 2 {
		var from peer.Peer
		sent := time.Now()
		rows, err := s.client.query(ctx, `SELECT CURRENT_TIMESTAMP`, nil, gax.WithGRPCOptions(grpc.Peer(&from)))
		if err != nil {
			return err
		}
		to.RTT = time.Since(sent)
		to.Ours = sent.Add(to.RTT / 2)
		if to.Time, err = time.Parse(time.RFC3339Nano, rows[0].GetValues()[0].GetStringValue()); err != nil {
			return err
		}
		if t, ok := from.AuthInfo.(credentials.TLSInfo); ok {
			to.TLS, to.Expires = tlsfiles.Security(t.State, nil)
		}
	}
	return nil
}

// findPolicies reports what deletes rows without us.
func (s *store) findPolicies(ctx context.Context, insist func(context.Context, func(context.Context) error) *locks.Error, to *locks.Servers) {
	const check = "deletion policy"
	_, name, ok := strings.Cut(s.client.settings.table, ".")
	if !ok {
		name = s.client.settings.table
	}
	var policies []*structpb.ListValue
	err := insist(ctx, func(ctx context.Context) (err error) {
		policies, err = s.client.query(ctx, policySQL, []param{text(name)})
		return err
	})
	if err != nil {
		to.Find(check, locks.LevelWarning, "whether a policy deletes rows is unknown: "+err.Err.Error(), cmp.Or(err.Hint, "try again"))
	}
	for _, row := range policies {
		to.Find(check, locks.LevelWarning, "a policy deletes rows: "+locks.Printable(row.GetValues()[0].GetStringValue())+"; a held lock whose row is deleted can be granted again",
			"remove it: ALTER TABLE "+s.client.settings.table+" DROP ROW DELETION POLICY; rows of unused locks do no harm, and leaderrun forget deletes them")
	}
}

var _ caslease.Prober = (*store)(nil)
