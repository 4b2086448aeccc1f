package spanner

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/spanner/spannertest"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

var jobs = caslease.Key{Name: "jobs"}

// at opens the store of a database, through the server at addr.
func at(t testing.TB, d *spannertest.Database, addr string) *store {
	t.Helper()
	s, err := parse(d.URL(addr), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	st := newStore(s, realserver.Ready)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// front returns the address of a server that answers as f does.
func front(t *testing.T, s *spannertest.Server, f func(*spannertest.Call) ([]byte, error)) (addr string) {
	t.Helper()
	front := s.Front(t)
	front.Answer(f)
	return front.Addr()
}

// isKind checks the kind of an error, its hint, and that its text is one line.
func isKind(t *testing.T, s *store, err error, want causes.Kind, hint string) {
	t.Helper()
	if f := storetest.IsKind(t, s, err, want); !strings.Contains(f.Hint, hint) || strings.ContainsAny(f.Text, "\n") {
		t.Errorf("%v is %+v; want a hint with %q, and one line", err, f, hint)
	}
}

// TestVersionsNeverComeAgain checks that a cell whose table was dropped and created again has
// neither a version nor a token of the earlier cell.
func TestVersionsNeverComeAgain(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	d := server.New(false)
	s := at(t, d, server.Addr())
	ctx := storetest.Within(t, realserver.Ready)
	old := storetest.Create(t, s, jobs)
	d.DDL("DROP TABLE leaderrun_locks")
	d.Table()
	made := storetest.Create(t, s, jobs)
	if made.First <= old.Floor || made.First != made.Floor {
		t.Errorf("after the token %d, the new cell is %+v", old.Floor, made)
	}
	_, err := s.Swap(ctx, jobs, old, caslease.Value{State: "{}"})
	isKind(t, s, err, causes.Changed, "")
}

// TestMinAge checks that the transaction that takes a lock over compares the age of the last
// change with the server's clock.
func TestMinAge(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	for _, postgres := range []bool{false, true} {
		d := server.New(postgres)
		s := at(t, d, server.Addr())
		ctx := storetest.Within(t, realserver.Ready)
		c := storetest.Create(t, s, jobs)
		_, err := s.Swap(ctx, jobs, c, caslease.Value{State: "{}", MinAge: time.Hour})
		isKind(t, s, err, causes.Changed, "")
		d.Exec("UPDATE leaderrun_locks SET updated = '2001-01-01T00:00:00Z', created = '2001-01-01T00:00:00Z' WHERE true")
		c = storetest.Must(t)(s.Read(ctx, jobs))
		age := c.Date.Sub(c.Updated)
		_, err = s.Swap(ctx, jobs, c, caslease.Value{State: "{}", MinAge: age + 2*realserver.Ready})
		isKind(t, s, err, causes.Changed, "")
		storetest.Must(t)(s.Swap(ctx, jobs, c, caslease.Value{State: "{}", MinAge: age}))
	}
}

// TestNothingIsRepeated checks that a request whose answer is an error is sent once, and that
// the kind of an error of a commit is Unknown if the commit may have had an effect.
func TestNothingIsRepeated(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	d := server.New(false)
	for code, want := range map[codes.Code]causes.Kind{
		codes.Unavailable: causes.Unknown, codes.Unknown: causes.Unknown, codes.Internal: causes.Unknown, codes.DeadlineExceeded: causes.Unknown,
		codes.ResourceExhausted: causes.Throttled, codes.PermissionDenied: causes.Denied, codes.Unauthenticated: causes.Denied,
	} {
		for _, method := range []string{"ExecuteSql", "Commit"} {
			var failing atomic.Bool
			var sent atomic.Int32
			s := at(t, d, front(t, server, func(c *spannertest.Call) ([]byte, error) {
				if c.Method != method || !failing.Load() {
					return c.Pass()
				}
				sent.Add(1)
				if want == causes.Unknown {
					_, _ = c.Pass() // it takes effect, and the answer is lost
				}
				return nil, status.Error(code, "injected")
			}))
			ctx := storetest.Within(t, realserver.Ready)
			before := storetest.Must(t)(s.Read(ctx, jobs))
			failing.Store(true)
			_, err := s.Swap(ctx, jobs, before, caslease.Value{State: `{"n":"` + code.String() + method + `"}`})
			isKind(t, s, err, want, "")
			if n := sent.Load(); n != 1 {
				t.Errorf("%s was sent %d times after %v; want once", method, n, code)
			}
			failing.Store(false)
			after := storetest.Must(t)(s.Read(ctx, jobs))
			if committed := method == "Commit" && want == causes.Unknown; (after.Version != before.Version) != committed {
				t.Errorf("%s: after %v the cell is %+v; it was %+v", method, code, after, before)
			}
		}
	}
}

// TestEndsMidway checks that a commit whose connection ends may have had an effect, also if
// the server had announced the end, which gRPC then reports in other words.
func TestEndsMidway(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	var proxy *faultproxy.Proxy
	addr := front(t, server, func(c *spannertest.Call) ([]byte, error) {
		answer, err := c.Pass()
		if c.Method == "Commit" {
			proxy.Reset()
		}
		return answer, err
	})
	proxy = faultproxy.New(t, addr)
	s := at(t, server.New(false), proxy.Addr())
	ctx := storetest.Within(t, realserver.Ready)
	_, err := s.Swap(ctx, jobs, caslease.Cell{}, caslease.Value{State: "{}"})
	isKind(t, s, err, causes.Unknown, "")
	if c := storetest.Must(t)(s.Read(ctx, jobs)); c.State != "{}" {
		t.Errorf("got %+v after %v", c, err)
	}
	announced := `closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: NO_ERROR, debug data: "max_age"`
	isKind(t, s, status.Error(codes.Unavailable, announced), causes.Unknown, "")
}

// TestAborted checks that a transaction that was aborted is repeated as a whole, until its
// context ends.
func TestAborted(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	var statements, commits, aborts atomic.Int32
	aborts.Store(2)
	s := at(t, server.New(false), front(t, server, func(c *spannertest.Call) ([]byte, error) {
		switch {
		case c.Method == "ExecuteSql" && strings.Contains(string(c.Request), "INSERT"):
			statements.Add(1)
		case c.Method == "Commit" && commits.Add(1) <= aborts.Load():
			return nil, status.Error(codes.Aborted, "injected")
		}
		return c.Pass()
	}))
	c := storetest.Create(t, s, jobs)
	if statements.Load() < 3 || commits.Load() < 3 {
		t.Errorf("%d statements and %d commits; want 3 of each", statements.Load(), commits.Load())
	}
	aborts.Store(1 << 30)
	_, err := s.Swap(storetest.Within(t, time.Second), jobs, c, caslease.Value{State: "{}"})
	want := causes.Changed
	if errors.Is(err, context.DeadlineExceeded) { // it ended in a request, and not in a pause
		want = causes.Unknown
	}
	isKind(t, s, err, want, "")
}

// TestRequests checks what the emulator does not care about: the kinds of the session and the
// transactions, and the tokens that commits in such a session need.
func TestRequests(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	first, second := &pb.MultiplexedSessionPrecommitToken{PrecommitToken: []byte("a"), SeqNum: 1}, &pb.MultiplexedSessionPrecommitToken{PrecommitToken: []byte("b"), SeqNum: 2}
	var commits, rollbacks atomic.Int32
	s := at(t, server.New(false), front(t, server, func(c *spannertest.Call) ([]byte, error) {
		if h := c.Header.Get("google-cloud-resource-prefix"); len(h) != 1 || !strings.HasPrefix(h[0], "projects/p/instances/") {
			t.Errorf("%s has the header %q", c.Method, h)
		}
		switch c.Method {
		case "CreateSession":
			var r pb.CreateSessionRequest
			if err := proto.Unmarshal(c.Request, &r); err != nil || !r.GetSession().GetMultiplexed() {
				t.Errorf("%v, %v", &r, err)
			}
		case "ExecuteSql":
			var r pb.ExecuteSqlRequest
			if err := proto.Unmarshal(c.Request, &r); err != nil {
				t.Error(err)
			}
			strong := r.GetTransaction().GetSingleUse().GetReadOnly().GetStrong()
			optimistic := r.GetTransaction().GetBegin().GetReadWrite().GetReadLockMode() == pb.TransactionOptions_ReadWrite_OPTIMISTIC
			if r.GetTransaction() != nil && strong == optimistic {
				t.Errorf("a statement in %v", r.GetTransaction())
			}
			b, err := c.Pass()
			var answer pb.ResultSet
			if err == nil && optimistic {
				err = proto.Unmarshal(b, &answer)
				answer.PrecommitToken = first
				b, _ = proto.Marshal(&answer)
			}
			return b, err
		case "Rollback":
			rollbacks.Add(1)
		case "Commit":
			var r pb.CommitRequest
			if err := proto.Unmarshal(c.Request, &r); err != nil {
				t.Error(err)
			}
			if commits.Add(1) == 1 {
				if !proto.Equal(r.GetPrecommitToken(), first) {
					t.Errorf("the first commit has the token %v", r.GetPrecommitToken())
				}
				return proto.Marshal(&pb.CommitResponse{MultiplexedSessionRetry: &pb.CommitResponse_PrecommitToken{PrecommitToken: second}})
			}
			if !proto.Equal(r.GetPrecommitToken(), second) {
				t.Errorf("the second commit has the token %v", r.GetPrecommitToken())
			}
		}
		return c.Pass()
	}))
	made := storetest.Create(t, s, jobs)
	ctx := storetest.Within(t, realserver.Ready)
	if got := storetest.Must(t)(s.Read(ctx, jobs)); got.Version != made.Version || commits.Load() != 2 {
		t.Errorf("created %+v with %d commits, and read %+v", made, commits.Load(), got)
	}
	_, err := s.Swap(ctx, jobs, caslease.Cell{Version: version(time.Unix(1, 0))}, caslease.Value{State: "{}"})
	isKind(t, s, err, causes.Changed, "")
	if rollbacks.Load() != 1 {
		t.Errorf("a change that was refused was rolled back %d times; want once", rollbacks.Load())
	}
}

// TestSessionDeleted checks that a session that the service has deleted costs one request.
func TestSessionDeleted(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	s := at(t, server.New(false), server.Addr())
	ctx := storetest.Within(t, realserver.Ready)
	c := storetest.Create(t, s, jobs)
	for _, request := range []func() error{
		func() error { _, err := s.Read(ctx, jobs); return err },
		func() error { _, err := s.Swap(ctx, jobs, c, caslease.Value{State: "{}"}); return err },
	} {
		api, err := s.client.open(ctx)
		if err == nil {
			err = api.DeleteSession(ctx, &pb.DeleteSessionRequest{Name: s.client.known().name})
		}
		if err != nil {
			t.Fatal(err)
		}
		isKind(t, s, request(), causes.Unsent, "")
		if err := request(); err != nil {
			t.Error(err)
		}
	}
}

// TestMissing checks the errors of what the operator has to make.
func TestMissing(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	for _, postgres := range []bool{false, true} {
		d := server.New(postgres)
		d.DDL("DROP TABLE leaderrun_locks")
		s := at(t, d, server.Addr())
		ctx := storetest.Within(t, realserver.Ready)
		_, reading := s.Read(ctx, jobs)
		_, writing := s.Swap(ctx, jobs, caslease.Cell{}, caslease.Value{State: "{}"})
		_, _, listing := s.List(ctx, "")
		for _, err := range []error{reading, writing, listing} {
			isKind(t, s, err, causes.Refused, map[bool]string{false: "name STRING(256)", true: "name varchar(256)"}[postgres])
		}
		d.DDL("CREATE TABLE leaderrun_locks (name " + map[bool]string{false: "STRING(9)) PRIMARY KEY (name)", true: "varchar(9) PRIMARY KEY)"}[postgres])
		_, err := s.Read(ctx, jobs)
		isKind(t, s, err, causes.Refused, "differ")
		s.client.settings.database = "none"
		s.client.current = nil
		_, err = s.Read(ctx, jobs)
		isKind(t, s, err, causes.Refused, "owner")
		s.client.settings.instance = "none"
		_, err = s.Read(ctx, jobs)
		isKind(t, s, err, causes.Refused, "instance")
	}
}

// TestRestart restarts an emulator, which forgets everything. The holder does not take this
// for a loss as long as it knows nothing of the row.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	d := server.New(false)
	l, err := Open(t.Context(), d.URL(server.Addr()), locks.Options{Name: "jobs", Holder: "a", TTL: time.Hour, ConnectTimeout: drive.Patience})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx := storetest.Within(t, 2*realserver.Ready)
	before, err := l.Acquire(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := l.Renew(ctx); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("without a server: %v", err)
	}
	server.Start()
	until(t, ctx, func() bool { err = l.Renew(ctx); return strings.Contains(err.Error(), "Instance not found") })
	if !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("without an instance: %v", err)
	}
	d.Create()
	until(t, ctx, func() bool { err = l.Renew(ctx); return errors.Is(err, locks.ErrLost) })
	again, err := Open(ctx, d.URL(server.Addr()), locks.Options{Name: "jobs", Holder: "b", TTL: time.Hour, ConnectTimeout: drive.Patience})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if after, err := again.Acquire(ctx, true); err != nil || after.Token <= before.Token || after.Clean {
		t.Errorf("after %+v: %+v, %v", before, after, err)
	}
}

func until(t *testing.T, ctx context.Context, ok func() bool) {
	t.Helper()
	for !ok() {
		if ctx.Err() != nil {
			t.Fatal("still not")
		}
	}
}

// TestSilentServer checks what a server that does not answer is reported as, and that the
// next request works when it answers again.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	s := at(t, server.New(false), server.Addr())
	storetest.Create(t, s, jobs)
	server.Pause()
	_, err := s.Read(storetest.Within(t, 300*time.Millisecond), jobs)
	server.Resume()
	if f := s.Fault(err); f != (causes.Fault{}) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is reported as %+v", err, f)
	}
	storetest.Must(t)(s.Read(storetest.Within(t, realserver.Ready), jobs))
}

// TestCell checks rows that no leaderrun has written.
func TestCell(t *testing.T) {
	t.Parallel()
	const early, late = "2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:06Z"
	for _, tt := range []struct {
		created, updated, state string
		record                  any
		want                    caslease.Cell
	}{
		{early, late, "{}", nil, caslease.Cell{State: "{}", First: 1767323045123456, Floor: 1767323046000000}},
		{early, early, "{}", "", caslease.Cell{State: "{}", Record: []byte{}, First: 1767323045123456, Floor: 1767323045123456}},
		{late, early, "{}", "eA==", caslease.Cell{State: "{}", Record: []byte("x"), Foreign: "has times that are not commit timestamps"}},
		{"0001-01-01T00:00:00Z", late, "{}", "/w==", caslease.Cell{State: "{}", Record: []byte{0xff}, BadRecord: true, Foreign: "has times that are not commit timestamps"}},
		{early, late, strings.Repeat("x", caslease.MaxRead+1), nil, caslease.Cell{Foreign: "has a state that is too long", First: 1767323045123456, Floor: 1767323046000000}},
	} {
		row, err := structpb.NewList([]any{"x", tt.created, tt.updated, tt.state, tt.record, late})
		if err != nil {
			t.Fatal(err)
		}
		got := storetest.Must(t)(cell(row))
		tt.want.Version, tt.want.Updated, tt.want.Date = tt.updated, got.Updated, got.Date
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("got %+v; want %+v", got, tt.want)
		}
	}
	for _, row := range [][]any{{"x", early, late, "{}", nil, nil}, {"x", "", late, "{}", nil, late}, {"x"}} {
		list, _ := structpb.NewList(row)
		if c, err := cell(list); err == nil {
			t.Errorf("%v is the cell %+v", row, c)
		}
	}
}

func TestFollows(t *testing.T) {
	t.Parallel()
	const early, late = "2026-01-02T03:04:05.9Z", "2026-01-02T03:04:05.91Z"
	for versions, want := range map[[2]string]bool{
		{"", early}: true, {early, late}: true, {late, early}: false, {early, early}: false, {early, ""}: false, {early, "x"}: false, {"", "x"}: false,
	} {
		if got := follows(versions[0], versions[1]); got != want {
			t.Errorf("follows(%q) = %v", versions, got)
		}
	}
}
