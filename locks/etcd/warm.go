package etcd

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// warm has protobuf learn the messages that a campaign needs while the
// connection is being made: half a millisecond that would otherwise pass
// between connecting and the first request.
func warm() {
	key := []byte("k")
	header := &pb.ResponseHeader{Revision: 1}
	ops := []*pb.RequestOp{opPut(&pb.PutRequest{Key: key}), opRange(&pb.RangeRequest{Key: key})}
	results := []*pb.ResponseOp{
		{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: key}}}}},
		{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{}}},
	}
	for _, m := range []proto.Message{
		&pb.LeaseGrantRequest{ID: 1}, &pb.LeaseGrantResponse{Header: header},
		&pb.TxnRequest{Compare: []*pb.Compare{notCreated(key, nil)}, Success: ops},
		&pb.TxnResponse{Header: header, Responses: results},
		&pb.LeaseRevokeRequest{ID: 1}, &pb.LeaseRevokeResponse{Header: header},
	} {
		if b, err := proto.Marshal(m); err == nil {
			_ = proto.Unmarshal(b, m)
		}
	}
}
