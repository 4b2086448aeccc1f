// Package spannertest runs Google's emulator of Spanner for tests. It keeps everything in
// memory. If there is a second transaction in a database, it aborts one of them: the first in
// one case of five.
package spannertest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	admin "cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/admin/instance/apiv1/instancepb"
	pb "cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// program is where Google's Debian package has the emulator.
const program = "/usr/lib/google-cloud-sdk/bin/cloud_spanner_emulator/emulator_main"

// A Server is a running emulator. Its methods fail the test if they cannot do what they say.
type Server struct {
	*realserver.Process
	conn *grpc.ClientConn
	addr string
	made atomic.Int32 // databases
}

// A Database is one with a dialect. Its name is that of its instance: each has its own,
// because the number of databases of an instance is limited.
type Database struct {
	server   *Server
	name     string
	postgres bool
}

// Start starts an emulator without any database. If the program is missing, the test is
// skipped, or fails if CI=true.
func Start(tb testing.TB) *Server {
	tb.Helper()
	realserver.Installed(tb) // tests that want no server have no cache
	if _, err := os.Stat(program); err != nil {
		realserver.Missing(tb, "there is no emulator of Spanner; Google's repository for Debian has it in google-cloud-cli-spanner-emulator")
	}
	s := &Server{addr: fmt.Sprintf("127.0.0.1:%d", realserver.FreePort(tb))}
	dir := realserver.DataDir(tb)
	s.Process = &realserver.Process{
		TB: tb, Path: program, LogFile: filepath.Join(dir, "log"), Env: []string{"HOME=" + dir},
		Args: []string{"--host_port", s.addr},
	}
	var err error
	if s.conn, err = grpc.NewClient("passthrough:///"+s.addr, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.conn.Close() })
	s.Start()
	return s
}

// Start starts the server again, without any database.
func (s *Server) Start() {
	s.TB.Helper()
	s.Process.Start()
	s.WaitReady(func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), realserver.Ready)
		defer cancel()
		_, err := instancepb.NewInstanceAdminClient(s.conn).ListInstances(ctx, &instancepb.ListInstancesRequest{Parent: "projects/p"}, grpc.WaitForReady(true))
		return err == nil
	})
}

// Addr returns the host and port of the server.
func (s *Server) Addr() string { return s.addr }

// New creates a database with the table, in the dialect of PostgreSQL if that is wanted.
func (s *Server) New(postgres bool) *Database {
	s.TB.Helper()
	d := &Database{server: s, postgres: postgres}
	d.name = fmt.Sprintf("%s-%d", map[bool]string{false: "google", true: "pg"}[postgres], s.made.Add(1))
	d.Create()
	return d
}

// Find returns the database of a URL.
func (s *Server) Find(u *url.URL) *Database {
	_, name, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	return &Database{server: s, name: name, postgres: strings.HasPrefix(name, "pg")}
}

// Create creates the database and the table. It is for a database that New has made, after a
// restart of the server.
func (d *Database) Create() {
	d.server.TB.Helper()
	ctx := context.Background()
	_, err := instancepb.NewInstanceAdminClient(d.server.conn).CreateInstance(ctx, &instancepb.CreateInstanceRequest{
		Parent: "projects/p", InstanceId: d.name,
		Instance: &instancepb.Instance{Config: "projects/p/instanceConfigs/emulator-config", DisplayName: d.name, NodeCount: 1},
	})
	if err != nil {
		d.server.TB.Fatal(err)
	}
	create := &admin.CreateDatabaseRequest{Parent: "projects/p/instances/" + d.name, CreateStatement: "CREATE DATABASE `" + d.name + "`"}
	if d.postgres {
		create.CreateStatement, create.DatabaseDialect = `CREATE DATABASE "`+d.name+`"`, admin.DatabaseDialect_POSTGRESQL
	}
	if _, err = admin.NewDatabaseAdminClient(d.server.conn).CreateDatabase(ctx, create); err != nil {
		d.server.TB.Fatal(err)
	}
	d.Table()
}

// Table creates the table.
func (d *Database) Table() {
	d.server.TB.Helper()
	if d.postgres {
		d.DDL(known.SpannerPostgreSQL)
		return
	}
	d.DDL(known.SpannerGoogleSQL)
}

// DDL runs a statement that changes the schema.
func (d *Database) DDL(statement string) {
	d.server.TB.Helper()
	op, err := admin.NewDatabaseAdminClient(d.server.conn).UpdateDatabaseDdl(context.Background(), &admin.UpdateDatabaseDdlRequest{Database: d.path(), Statements: []string{statement}})
	if err == nil && op.GetError() != nil {
		err = status.ErrorProto(op.GetError())
	}
	if err != nil {
		d.server.TB.Fatalf("%s: %v", statement, err)
	}
}

func (d *Database) path() string {
	return "projects/p/instances/" + d.name + "/databases/" + d.name
}

// URL returns the address of the database, through a proxy at addr.
func (d *Database) URL(addr string) *url.URL {
	return &url.URL{Scheme: "spanner", Host: "p", Path: "/" + d.name + "/" + d.name, RawQuery: url.Values{"endpoint": {"http://" + addr}}.Encode()}
}

// Exec runs a statement, again if it was aborted, and returns the rows. NULL is "".
func (d *Database) Exec(statement string) [][]string {
	d.server.TB.Helper()
	return d.commit(func(ctx context.Context, c pb.SpannerClient, session string, in *pb.TransactionSelector) (*pb.ResultSet, []*pb.Mutation, error) {
		res, err := c.ExecuteSql(ctx, &pb.ExecuteSqlRequest{Session: session, Transaction: in, Seqno: 1, Sql: statement})
		return res, nil, err
	})
}

// Put writes a text, or bytes in base64, into a column of a row. It creates the row if there
// is none.
func (d *Database) Put(name string, part int, column, value string) {
	d.server.TB.Helper()
	const now = "spanner.commit_timestamp()"
	columns, values := []string{"name", "part", "updated", column}, []string{name, strconv.Itoa(part), now, value}
	d.commit(func(ctx context.Context, c pb.SpannerClient, session string, in *pb.TransactionSelector) (*pb.ResultSet, []*pb.Mutation, error) {
		res, err := c.ExecuteSql(ctx, &pb.ExecuteSqlRequest{
			Session: session, Transaction: in, Seqno: 1,
			Sql: fmt.Sprintf("SELECT created FROM %s WHERE name = '%s' AND part = %d", known.SpannerTable, name, part),
		})
		if len(res.GetRows()) > 0 {
			return res, []*pb.Mutation{{Operation: &pb.Mutation_Update{Update: row(columns, values)}}}, err
		}
		made := row(append(columns, "created"), append(values, now))
		return res, []*pb.Mutation{{Operation: &pb.Mutation_Insert{Insert: made}}}, err
	})
}

func row(columns, values []string) *pb.Mutation_Write {
	list := &structpb.ListValue{}
	for _, v := range values {
		list.Values = append(list.Values, structpb.NewStringValue(v))
	}
	return &pb.Mutation_Write{Table: known.SpannerTable, Columns: columns, Values: []*structpb.ListValue{list}}
}

// commit runs a transaction until it is not aborted, and returns the rows of its statement.
func (d *Database) commit(do func(context.Context, pb.SpannerClient, string, *pb.TransactionSelector) (*pb.ResultSet, []*pb.Mutation, error)) (rows [][]string) {
	d.server.TB.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), realserver.Ready)
	defer cancel()
	c := pb.NewSpannerClient(d.server.conn)
	session, err := c.CreateSession(ctx, &pb.CreateSessionRequest{Database: d.path()})
	if err != nil {
		d.server.TB.Fatal(err)
	}
	defer func() { _, _ = c.DeleteSession(ctx, &pb.DeleteSessionRequest{Name: session.GetName()}) }()
	begin := &pb.TransactionSelector{Selector: &pb.TransactionSelector_Begin{Begin: &pb.TransactionOptions{
		Mode: &pb.TransactionOptions_ReadWrite_{ReadWrite: &pb.TransactionOptions_ReadWrite{}},
	}}}
	for {
		res, mutations, err := do(ctx, c, session.GetName(), begin)
		if err == nil {
			_, err = c.Commit(ctx, &pb.CommitRequest{
				Session: session.GetName(), Mutations: mutations, Transaction: &pb.CommitRequest_TransactionId{TransactionId: res.GetMetadata().GetTransaction().GetId()},
			})
		}
		switch {
		case status.Code(err) == codes.Aborted:
			continue
		case err != nil:
			d.server.TB.Fatal(err)
		}
		for _, row := range res.GetRows() {
			var texts []string
			for _, v := range row.GetValues() {
				texts = append(texts, v.GetStringValue())
			}
			rows = append(rows, texts)
		}
		return rows
	}
}
