// Package azblobtest runs Azurite, Microsoft's emulator of Azure Blob Storage, for tests. This
// is a package of its own because faults and testscripts start it, too.
package azblobtest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// Account and Key are those of every emulator, and Container is made by Start.
const (
	Account   = "devstoreaccount1"
	Key       = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	Container = "locks"
)

// dates makes Azurite read the ends of leases from its files as dates. Otherwise a lease
// ends when it is restarted.
const dates = `const parse = JSON.parse
JSON.parse = (text, f) => parse(text, f ?? ((key, value) =>
	value && (key === "leaseExpireTime" || key === "leaseBreakTime") ? new Date(value) : value))
`

// A Server keeps its data over an orderly restart. It enforces all conditions and leases.
type Server struct {
	*realserver.Process
	*container.Client // an operator, who uses the SDK

	tb   testing.TB
	port int
}

// Start runs an emulator with an empty container.
func Start(tb testing.TB) *Server {
	tb.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		realserver.Missing(tb, "node is missing, which runs Azurite")
	}
	dir, port := realserver.DataDir(tb), realserver.FreePort(tb)
	preload := filepath.Join(dir, "dates.js")
	if err := os.WriteFile(preload, []byte(dates), 0o600); err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, port: port}
	s.Process = &realserver.Process{
		TB: tb, Path: node, LogFile: filepath.Join(dir, "log"), Env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")},
		Args: []string{
			"--require", preload,
			realserver.Installed(tb, "azurite-v3.35.0", "node_modules", "azurite", "dist", "src", "blob", "main.js"),
			"--blobHost", "127.0.0.1", "--blobPort", fmt.Sprint(port), "--location", filepath.Join(dir, "data"),
			"--silent", "--skipApiVersionCheck", "--disableTelemetry",
		},
	}
	s.Client = s.container(Container)
	s.Start()
	if _, err := s.Create(context.Background(), nil); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Start starts a server that was stopped, with its data.
func (s *Server) Start() {
	s.tb.Helper()
	s.Process.Start()
	s.WaitReady(func() bool {
		resp, err := http.Get("http://" + s.Addr() + "/")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	})
}

// Addr returns the address of the HTTP API, "127.0.0.1:port".
func (s *Server) Addr() string { return fmt.Sprint("127.0.0.1:", s.port) }

// URL returns a prefix in the container as a leaderrun backend, at the address of the
// server or of a proxy. It needs the variable AZURE_STORAGE_KEY.
func URL(addr, prefix string) *url.URL {
	return &url.URL{
		Scheme: "azblob", Host: Account, Path: "/" + Container + "/" + prefix,
		RawQuery: url.Values{"endpoint": {"http://" + addr + "/" + Account}}.Encode(),
	}
}

func (s *Server) container(name string) *container.Client {
	key, err := container.NewSharedKeyCredential(Account, Key)
	if err != nil {
		s.tb.Fatal(err)
	}
	o := azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}
	c, err := container.NewClientWithSharedKeyCredential("http://"+s.Addr()+"/"+Account+"/"+name, key, &container.ClientOptions{ClientOptions: o})
	if err != nil {
		s.tb.Fatal(err)
	}
	return c
}
