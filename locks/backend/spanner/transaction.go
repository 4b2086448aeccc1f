package spanner

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"time"

	pb "cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// abortedMax bounds the pause before a transaction that was aborted is repeated. Those of
// others last for a few round trips.
const abortedMax = 100 * time.Millisecond

// errChanged says that no row has that version.
var errChanged = errors.New("the row has changed")

// strong is a transaction for one query, which sees every commit that was acknowledged
// before.
func strong() *pb.TransactionSelector {
	return &pb.TransactionSelector{Selector: &pb.TransactionSelector_SingleUse{SingleUse: &pb.TransactionOptions{
		Mode: &pb.TransactionOptions_ReadOnly_{ReadOnly: &pb.TransactionOptions_ReadOnly{TimestampBound: &pb.TransactionOptions_ReadOnly_Strong{Strong: true}}},
	}}}
}

// writing is a new transaction that can write. Nothing is locked before the commit, which
// fails with ABORTED if anything that was read has changed. With locks, a transaction whose
// answer was lost would hold up the next ones, for 10 s or more.
func writing() *pb.TransactionSelector {
	return &pb.TransactionSelector{Selector: &pb.TransactionSelector_Begin{Begin: &pb.TransactionOptions{
		Mode: &pb.TransactionOptions_ReadWrite_{ReadWrite: &pb.TransactionOptions_ReadWrite{ReadLockMode: pb.TransactionOptions_ReadWrite_OPTIMISTIC}},
	}}}
}

// query runs a query and returns its rows.
func (c *client) query(ctx context.Context, statement string, values []param, opts ...gax.CallOption) ([]*structpb.ListValue, error) {
	ctx, api, s, err := c.in(ctx)
	if err != nil {
		return nil, err
	}
	res, err := api.ExecuteSql(ctx, c.request(s, strong(), statement, values), opts...)
	return res.GetRows(), c.failed(api, s, err)
}

// change runs a statement that changes one row. If one row has changed, it commits the
// transaction and returns the commit timestamp. Otherwise it rolls it back, and the error is
// errChanged. A transaction that the service aborts has no effect, and is repeated
// until ctx ends: the condition of the statement is then checked again.
func (c *client) change(ctx context.Context, statement string, values ...param) (time.Time, error) {
	for pause := (backoff.Backoff{Longest: abortedMax}); ; {
		done, err := c.changeOnce(ctx, statement, values)
		if !aborted(err) || pause.Wait(ctx) != nil {
			return done, err
		}
	}
}

func (c *client) changeOnce(ctx context.Context, statement string, values []param) (time.Time, error) {
	ctx, api, s, err := c.in(ctx)
	if err != nil {
		return time.Time{}, err
	}
	res, err := api.ExecuteSql(ctx, c.request(s, writing(), statement, values))
	if err != nil {
		return time.Time{}, c.failed(api, s, err)
	}
	tx := res.GetMetadata().GetTransaction().GetId()
	if res.GetStats().GetRowCountExact() != 1 {
		_ = api.Rollback(ctx, &pb.RollbackRequest{Session: s.name, TransactionId: tx}) // the service also ends it by itself
		return time.Time{}, errChanged
	}
	request := &pb.CommitRequest{Session: s.name, Transaction: &pb.CommitRequest_TransactionId{TransactionId: tx}, PrecommitToken: res.GetPrecommitToken()}
	done, err := api.Commit(ctx, request)
	if again := done.GetPrecommitToken(); err == nil && again != nil { // it has not committed, and wants this token
		request.PrecommitToken = again
		done, err = api.Commit(ctx, request)
	}
	if err == nil && done.GetCommitTimestamp() == nil {
		err = errors.New("the answer lacks the commit timestamp")
	}
	return done.GetCommitTimestamp().AsTime(), c.failed(api, s, err)
}

// request returns the request that runs a statement.
func (c *client) request(s *session, in *pb.TransactionSelector, statement string, values []param) *pb.ExecuteSqlRequest {
	r := &pb.ExecuteSqlRequest{
		Session: s.name, Transaction: in, Seqno: 1, Sql: s.dialect.sql(statement, c.settings.table),
		Params: &structpb.Struct{Fields: map[string]*structpb.Value{}}, ParamTypes: map[string]*pb.Type{},
	}
	for i, v := range values {
		name := "p" + strconv.Itoa(i+1)
		r.Params.Fields[name], r.ParamTypes[name] = v.value, &pb.Type{Code: v.code}
	}
	return r
}

// A param is a parameter of a statement.
type param struct {
	code  pb.TypeCode
	value *structpb.Value
}

func text(s string) param      { return param{pb.TypeCode_STRING, structpb.NewStringValue(s)} }
func number(n int) param       { return param{pb.TypeCode_INT64, structpb.NewStringValue(strconv.Itoa(n))} }
func null(c pb.TypeCode) param { return param{c, structpb.NewNullValue()} }

func binary(b []byte) param {
	return param{pb.TypeCode_BYTES, structpb.NewStringValue(base64.StdEncoding.EncodeToString(b))}
}

// stamp returns a time, which must be in the form of a cell's version.
func stamp(version string) param {
	return param{pb.TypeCode_TIMESTAMP, structpb.NewStringValue(version)}
}
