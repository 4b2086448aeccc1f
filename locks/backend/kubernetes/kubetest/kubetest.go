// Package kubetest runs real API servers of Kubernetes for tests. This is a package of its own
// because faults, testscripts and examples start them, too.
package kubetest

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// Admin is the token of who may do everything, and Guest that of who may do what a Role says.
const (
	Admin = "opensesame"
	Guest = "knock"
)

// A Server is an API server without nodes, controllers or a scheduler: objects are kept, and
// nothing happens with them. Its methods fail the test if they fail, and are not for concurrent
// use, unless they say so.
type Server struct {
	*realserver.Process
	CAFile string

	tb      testing.TB
	ca      *realserver.CA
	etcd    string // its address
	dir     string
	port    int
	client  *http.Client
	spaces  atomic.Int64
	configs atomic.Int64
}

// Binary returns the path of the program kube-apiserver. If it is missing, the test is skipped,
// or fails if CI=true.
func Binary(tb testing.TB) string {
	tb.Helper()
	return realserver.Installed(tb, "kubernetes-v1.36.3", "kube-apiserver")
}

// Elector returns the path of a program that takes part in client-go's leader election: see
// .ci/elector.
func Elector(tb testing.TB) string {
	tb.Helper()
	return realserver.Installed(tb, "elector-v1.36.3", "elector")
}

// Start runs a server.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	Binary(tb)
	s := &Server{tb: tb, ca: realserver.NewCA(tb), etcd: startEtcd(tb), dir: tb.TempDir()}
	s.launch(args)
	return s
}

// startEtcd runs the store of a server, and returns its address. The server waits for it.
func startEtcd(tb testing.TB) (addr string) {
	tb.Helper()
	dir := realserver.DataDir(tb)
	addr, peer := fmt.Sprint("http://127.0.0.1:", realserver.FreePort(tb)), fmt.Sprint("http://127.0.0.1:", realserver.FreePort(tb))
	p := &realserver.Process{
		TB: tb, Path: realserver.Installed(tb, "etcd-v3.7.3", "etcd"), LogFile: filepath.Join(dir, "log"), Env: []string{"HOME=" + dir},
		Args: []string{"--data-dir", filepath.Join(dir, "data"), "--listen-client-urls", addr, "--advertise-client-urls", addr, "--listen-peer-urls", peer, "--unsafe-no-fsync", "--log-level", "warn"},
	}
	p.Start()
	return addr
}

// Another runs a second server over the same data.
func (s *Server) Another() *Server {
	s.tb.Helper()
	other := &Server{tb: s.tb, ca: s.ca, etcd: s.etcd, dir: s.tb.TempDir()}
	for _, file := range []string{"tokens", "account.pem", "account-key.pem"} {
		copyFile(s.tb, filepath.Join(s.dir, file), filepath.Join(other.dir, file))
	}
	other.launch(nil)
	return other
}

func (s *Server) launch(args []string) {
	s.tb.Helper()
	cert, key := s.ca.Issue("apiserver", realserver.Cert{})
	account, accountKey := filepath.Join(s.dir, "account.pem"), filepath.Join(s.dir, "account-key.pem")
	if _, err := os.Stat(account); err != nil {
		public, private := s.ca.Issue("account", realserver.Cert{})
		copyFile(s.tb, public, account)
		copyFile(s.tb, private, accountKey)
		s.write("tokens", Admin+",admin,1,system:masters\n"+Guest+",guest,2\n")
	}
	s.CAFile, s.port = s.ca.CertFile, realserver.FreePort(s.tb)
	s.client = &http.Client{Timeout: realserver.Ready, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	s.Process = &realserver.Process{
		TB: s.tb, Path: Binary(s.tb), LogFile: filepath.Join(s.dir, "log"), Env: []string{"HOME=" + s.dir},
		Args: append([]string{
			"--etcd-servers", s.etcd, "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(s.port),
			"--tls-cert-file", cert, "--tls-private-key-file", key, "--token-auth-file", filepath.Join(s.dir, "tokens"),
			"--authorization-mode", "RBAC", "--endpoint-reconciler-type", "none", "--service-cluster-ip-range", "10.0.0.0/24",
			"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", account,
			"--service-account-signing-key-file", accountKey, "--disable-admission-plugins", "ServiceAccount",
			"--request-timeout", "5s", // an orderly stop waits for as long if there are watches
		}, args...),
	}
	s.Start()
}

// Start starts a server that was stopped or killed, with its data.
func (s *Server) Start() {
	s.tb.Helper()
	s.Process.Start()
	s.WaitReady()
}

// WaitReady waits until the server says that it is ready.
func (s *Server) WaitReady() {
	s.tb.Helper()
	s.Process.WaitReady(func() bool {
		status, _, err := s.send(http.MethodGet, "/readyz", "", nil)
		return err == nil && status == http.StatusOK
	})
}

// Addr returns the address, "127.0.0.1:port".
func (s *Server) Addr() string { return fmt.Sprint("127.0.0.1:", s.port) }

// Namespace makes a namespace, and returns its name. It may be called concurrently.
func (s *Server) Namespace() string {
	s.tb.Helper()
	name := fmt.Sprint("test-", s.spaces.Add(1))
	s.Do(http.MethodPost, "/api/v1/namespaces", object("v1", "Namespace", name, nil))
	return name
}

// Leases is the path of the Leases of a namespace.
func Leases(namespace string) string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases"
}

// Grant lets a user do something with the Leases of a namespace. It may be called concurrently.
func (s *Server) Grant(namespace string, subject map[string]any, verbs ...string) {
	s.tb.Helper()
	const group = "rbac.authorization.k8s.io"
	at := "/apis/" + group + "/v1/namespaces/" + namespace
	name := "leaderrun"
	s.Do(http.MethodPost, at+"/roles", object(group+"/v1", "Role", name, map[string]any{
		"rules": []any{map[string]any{"apiGroups": []string{"coordination.k8s.io"}, "resources": []string{"leases"}, "verbs": verbs}},
	}))
	s.Do(http.MethodPost, at+"/rolebindings", object(group+"/v1", "RoleBinding", name, map[string]any{
		"subjects": []any{subject}, "roleRef": map[string]any{"apiGroup": group, "kind": "Role", "name": name},
	}))
}

func object(version, kind, name string, more map[string]any) map[string]any {
	all := map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name}}
	for key, value := range more {
		all[key] = value
	}
	return all
}

// Do sends a request as the administrator, and returns the answer, which must not be an error. It
// may be called concurrently.
func (s *Server) Do(method, path string, body any) string {
	s.tb.Helper()
	status, text, err := s.send(method, path, "", body)
	if err != nil || status/100 != 2 {
		s.tb.Errorf("%s %s: %d %s %v", method, path, status, text, err)
	}
	return text
}

// Patch changes an object by a merge patch. It may be called concurrently.
func (s *Server) Patch(path string, body any) string {
	s.tb.Helper()
	status, text, err := s.send(http.MethodPatch, path, "application/merge-patch+json", body)
	if err != nil || status/100 != 2 {
		s.tb.Errorf("patch %s: %d %s %v", path, status, text, err)
	}
	return text
}

func (s *Server) send(method, path, kind string, body any) (status int, text string, err error) {
	var b []byte
	if body != nil {
		if b, err = json.Marshal(body); err != nil {
			return 0, "", err
		}
	}
	req, err := http.NewRequest(method, "https://"+s.Addr()+path, bytes.NewReader(b))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+Admin)
	if kind == "" {
		kind = "application/json"
	}
	req.Header.Set("Content-Type", kind)
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err = io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// URL returns the address of a namespace as a leaderrun backend, through an address that leads to
// the server, with credentials in the words of a kubeconfig: {"token": Admin}. The context has the
// address as its name. It may be called concurrently.
func (s *Server) URL(addr, namespace string, user map[string]any) *url.URL {
	s.tb.Helper()
	config := map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": addr,
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": "https://" + addr, "certificate-authority": s.CAFile, "tls-server-name": "localhost"}}},
		"users":    []any{map[string]any{"name": "u", "user": user}},
		"contexts": []any{map[string]any{"name": addr, "context": map[string]any{"cluster": "c", "user": "u"}}},
	}
	text, err := json.Marshal(config)
	s.check(err)
	file := s.write(fmt.Sprint("config-", s.configs.Add(1)), string(text))
	return &url.URL{Scheme: "k8s", Host: addr, Path: "/" + namespace, RawQuery: url.Values{"kubeconfig": {file}}.Encode()}
}

// AsAdmin is the user of [Server.URL] who may do everything.
func AsAdmin() map[string]any { return map[string]any{"token": Admin} }

func (s *Server) write(file, text string) string {
	s.tb.Helper()
	path := filepath.Join(s.dir, file)
	s.check(os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (s *Server) check(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}

// Try sends a request as the administrator, whatever becomes of it. It may be called concurrently.
func (s *Server) Try(method, path string, body any) (status int) {
	status, _, _ = s.send(method, path, "", body)
	return status
}

func copyFile(tb testing.TB, from, to string) {
	tb.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
}
