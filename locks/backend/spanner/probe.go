package spanner

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	pb "cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// Probe implements [caslease.Prober]: the one server is the service. Probe runs the
// statements of a run for a row of no lock, and rolls them back: that is how it learns whether
// the table is as it should be, and whether we may write it.
func (s *store) Probe(ctx context.Context, insist func(context.Context, func(context.Context) error) *locks.Error) (locks.Servers, error) {
	found := locks.Servers{Product: "Google Cloud Spanner"}
	if s.client.settings.anonymous() {
		found.Product = "an emulator of Google Cloud Spanner"
	}
	server := locks.Server{Address: cmp.Or(s.client.settings.endpoint, "https://spanner.googleapis.com")}
	err := insist(ctx, func(ctx context.Context) error { return s.ask(ctx, &server) })
	if err != nil {
		found.Find("database", locks.LevelError, err.Err.Error(), err.Hint)
		server.Error, server.Class = err.Err.Error(), locks.ServerClass(err)
	}
	found.Servers = []locks.Server{server}
	if err == nil {
		found.Find("database", locks.LevelOK, s.client.known().dialect.name, "")
		s.inspectTable(ctx, insist, &found)
	}
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

// inspectTable reports whether we may do with the table what a run does, and what else
// deletes rows.
func (s *store) inspectTable(ctx context.Context, insist func(context.Context, func(context.Context) error) *locks.Error, to *locks.Servers) {
	none, old := []param{text(""), number(0)}, stamp(version(time.Unix(0, 0))) // no lock has this name
	try := func(statement string, values ...param) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.client.change(ctx, false, statement, slices.Concat(none, values)...)
			if errors.Is(err, errChanged) || status.Code(err) == codes.AlreadyExists {
				return nil
			}
			return err
		}
	}
	noState, noRecord := null(pb.TypeCode_STRING), null(pb.TypeCode_BYTES)
	var policies []*structpb.ListValue
	for _, does := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.client.query(ctx, readSQL, none); return err },
		try(createSQL, noState, noRecord), try(updateSQL, noState, noRecord, old, old), try(deleteSQL, old),
		func(ctx context.Context) (err error) {
			_, name, ok := strings.Cut(s.client.settings.table, ".")
			if !ok {
				name = s.client.settings.table
			}
			policies, err = s.client.query(ctx, policySQL, []param{text(name)})
			return err
		},
	} {
		if err := insist(ctx, does); err != nil {
			to.Find("table", locks.LevelError, err.Err.Error(), err.Hint)
			return
		}
	}
	to.Find("table", locks.LevelOK, s.client.settings.table+" can be read and written", "")
	for _, row := range policies {
		to.Find("deletion policy", locks.LevelWarning, "a policy deletes rows: "+locks.Printable(row.GetValues()[0].GetStringValue())+"; a held lock whose row is deleted can be granted again",
			"remove it: ALTER TABLE "+s.client.settings.table+" DROP ROW DELETION POLICY; rows of unused locks do no harm, and leaderrun forget deletes them")
	}
}

var _ caslease.Prober = (*store)(nil)
