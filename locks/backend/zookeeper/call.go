package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/go-zookeeper/zk"
)

// The numbers of requests that are made without the library, because it does not know
// them, or has no connection for them.
const (
	opExists   = 3
	opAuth     = 100
	opAddWatch = 106

	xidCall = 1
	xidAuth = -4
)

// withConn calls f with a separate connection to a server, which is closed when ctx ends.
func withConn(ctx context.Context, e endpoint, certs *certificates, f func(net.Conn) error) error {
	conn, err := dialServer(ctx, e, certs)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err = f(conn); err != nil && ctx.Err() != nil {
		return errSilent
	}
	return err
}

// call makes a request on a connection that has a session, and waits for the
// answer. Events before the answer are dropped.
func call(conn net.Conn, xid, op int32, body []byte) error {
	if _, err := conn.Write(request(xid, op, body)); err != nil {
		return atOnce(err)
	}
	for {
		p, _, err := readPacket(conn)
		if err != nil {
			return atOnce(err)
		}
		if got, code := outcome(p); got == xid {
			return refusal(code)
		}
	}
}

func request(xid, op int32, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(xid))
	b = binary.BigEndian.AppendUint32(b, uint32(op))
	return packet(append(b, body...))
}

// withText appends a string in the protocol's form.
func withText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// errUnknown is the answer to a request that a server does not know.
var errUnknown = errors.New("the server does not know this request")

// refusal returns the error for a code of KeeperException.Code, or nil for 0.
func refusal(code int32) error {
	switch code {
	case 0:
		return nil
	case -5, -6: // MARSHALLINGERROR, UNIMPLEMENTED
		return errUnknown
	case -101:
		return zk.ErrNoNode
	case -102:
		return zk.ErrNoAuth
	case -115:
		return zk.ErrAuthFailed
	}
	return fmt.Errorf("the server answered with error %d", code)
}

// authenticate adds users to a connection.
func authenticate(conn net.Conn, users []string) error {
	for _, user := range users {
		body := binary.BigEndian.AppendUint32(nil, 0) // a type, which servers ignore
		if err := call(conn, xidAuth, opAuth, withText(withText(body, "digest"), user)); err != nil {
			return err
		}
	}
	return nil
}
