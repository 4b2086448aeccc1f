package spannertest

import (
	"context"
	"fmt"
	"path"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A Call is a request on its way to the server.
type Call struct {
	Method  string      // "Commit"
	Request []byte      // encoded
	Header  metadata.MD // of the request

	pass func([]byte) ([]byte, error)
}

// Pass passes the request on, and returns the server's encoded answer.
func (c *Call) Pass() (answer []byte, err error) { return c.pass(c.Request) }

// A Front is a server that passes each call on, unless it is made to fail. It can be stopped,
// as connections to the service end, and the emulator behind it keeps its data. Its methods
// must not be called concurrently, except for Answer.
type Front struct {
	tb     testing.TB
	to     *Server
	addr   string
	server *grpc.Server
	answer atomic.Pointer[func(*Call) ([]byte, error)]
}

// Front starts a Front.
func (s *Server) Front(tb testing.TB) *Front {
	tb.Helper()
	f := &Front{tb: tb, to: s, addr: fmt.Sprintf("127.0.0.1:%d", realserver.FreePort(tb))}
	f.Answer((*Call).Pass)
	f.Start()
	tb.Cleanup(func() { f.Stop() })
	return f
}

// Addr returns the host and port.
func (f *Front) Addr() string { return f.addr }

// Answer makes the Front answer each call from now on as the function does.
func (f *Front) Answer(as func(*Call) ([]byte, error)) { f.answer.Store(&as) }

// Stop ends all connections and refuses others.
func (f *Front) Stop() { f.server.Stop() }

// Start accepts connections.
func (f *Front) Start() {
	f.tb.Helper()
	l := realserver.Listen(f.tb, f.addr)
	f.server = grpc.NewServer(grpc.ForceServerCodec(asIs{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error { return f.serve(stream) }))
	go func(s *grpc.Server) { _ = s.Serve(l) }(f.server)
}

func (f *Front) serve(stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	header, _ := metadata.FromIncomingContext(stream.Context())
	call := &Call{Method: path.Base(method), Header: header}
	if err := stream.RecvMsg(&call.Request); err != nil {
		return err
	}
	call.pass = func(request []byte) (answer []byte, err error) { // whether the caller still waits or not
		err = f.to.conn.Invoke(context.WithoutCancel(stream.Context()), method, &request, &answer, grpc.ForceCodec(asIs{}))
		return answer, err
	}
	answer, err := (*f.answer.Load())(call)
	if err != nil {
		return err
	}
	return stream.SendMsg(&answer)
}

// asIs is a codec that leaves messages encoded.
type asIs struct{}

func (asIs) Name() string                       { return "proto" }
func (asIs) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (asIs) Unmarshal(data []byte, v any) error { *v.(*[]byte) = append([]byte{}, data...); return nil }
