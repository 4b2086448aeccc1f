package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A plugin makes requests with the credentials that a program prints, such as aws eks get-token.
// It is not client-go's, which runs the program when credentials have ended, while a request
// waits: a program that takes longer than a renewal may take would cost us the lease. This one
// runs it ahead of time, in the background. Only the first request waits.
//
// The program has no standard input: ours is the pipe to leaderrun, and nobody could answer.
type plugin struct {
	config  *clientcmdapi.ExecConfig
	info    string // what the program is told about the cluster
	next    http.RoundTripper
	renewed func() // closes connections that have the certificate before
	log     *slog.Logger
	workers *workers.Workers
	first   sync.Once
	wanted  chan struct{} // has room for one: the server has refused the credentials

	mu    sync.Mutex
	now   credentials
	err   error         // why there are none
	ready chan struct{} // closed when there are, or err says why not
}

// credentials are what a program printed. Those that do not say when they end last until a server
// refuses them.
type credentials struct {
	token string
	cert  *tls.Certificate
	got   time.Time
	ends  time.Time
}

const (
	// againAfter is the pause after a run that failed.
	againAfter = 10 * time.Second
	// longestRun bounds a run of the program.
	longestRun = 2 * time.Minute
)

// A pluginError says that there are no credentials.
type pluginError struct {
	error
	late bool // because there was no time to wait for them
}

func (e *pluginError) Unwrap() error { return e.error }

func newPlugin(c *cluster, next http.RoundTripper, renewed func(), log *slog.Logger) *plugin {
	return &plugin{
		config: c.plugin, info: execInfo(c), next: next, renewed: renewed, log: log,
		workers: workers.New(), wanted: make(chan struct{}, 1), ready: make(chan struct{}),
	}
}

// execInfo is the object that the program reads in KUBERNETES_EXEC_INFO.
func execInfo(c *cluster) string {
	spec := map[string]any{"interactive": false}
	if c.plugin.ProvideClusterInfo {
		read := rest.CopyConfig(c.config)
		_ = rest.LoadTLSFiles(read) // without its files, there is no connection either
		about := map[string]any{"server": read.Host, "tls-server-name": read.ServerName, "insecure-skip-tls-verify": read.Insecure, "certificate-authority-data": read.CAData}
		if c.plugin.Config != nil {
			about["config"] = c.plugin.Config
		}
		spec["cluster"] = about
	}
	text, err := json.Marshal(map[string]any{"apiVersion": c.plugin.APIVersion, "kind": "ExecCredential", "spec": spec})
	if err != nil {
		return "" // the program says what it lacks
	}
	return string(text)
}

// RoundTrip implements [http.RoundTripper].
func (p *plugin) RoundTrip(req *http.Request) (*http.Response, error) {
	has, err := p.credentials(req.Context())
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	if has.token != "" {
		req.Header.Set("Authorization", "Bearer "+has.token)
	}
	resp, err := p.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		workers.Poke(p.wanted)
	}
	return resp, err
}

// credentials returns the present ones. It waits only for the first.
func (p *plugin) credentials(ctx context.Context) (credentials, error) {
	p.first.Do(func() { _ = p.workers.Go(p.keep) })
	select {
	case <-p.ready:
	case <-ctx.Done():
		return credentials{}, &pluginError{ctx.Err(), true}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		workers.Poke(p.wanted)
		return credentials{}, &pluginError{p.err, false}
	}
	return p.now, nil
}

// certificate is for TLS, after credentials have been waited for.
func (p *plugin) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.now.cert, &tls.Certificate{}), nil
}

// keep runs the program, and again when a quarter of the time is left, or when a server refuses
// the credentials.
func (p *plugin) keep(ctx context.Context) {
	for {
		has, err := p.run(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := againAfter
		if err == nil && !has.ends.IsZero() {
			pause = max(time.Until(has.ends)*3/4, time.Second)
		}
		p.note(has, err)
		var due <-chan time.Time
		if err != nil || !has.ends.IsZero() {
			due = time.After(pause)
		}
		select {
		case <-due:
		case <-p.wanted:
			select { // a server that refuses all credentials must not keep the program busy
			case <-time.After(time.Until(has.got.Add(time.Second))):
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// note takes new credentials. If there are none, those before stay.
func (p *plugin) note(has credentials, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	had := !p.now.got.IsZero()
	switch {
	case err == nil:
		p.now, p.err = has, nil
		if has.cert != nil && had {
			p.renewed()
		}
	case had:
		p.log.Warn("cannot renew the credentials; using the previous ones", "err", err)
	default:
		p.err = err
	}
	select {
	case <-p.ready:
	default:
		close(p.ready)
	}
}

// run runs the program once.
func (p *plugin) run(ctx context.Context) (credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	has := credentials{got: time.Now()}
	cmd := exec.CommandContext(ctx, p.config.Command, p.config.Args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "KUBERNETES_EXEC_INFO="+p.info)
	for _, v := range p.config.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		said := strings.TrimSpace(stderr.String())
		said = said[strings.LastIndexByte(said, '\n')+1:]
		return has, fmt.Errorf("%s: %w: %s", p.config.Command, err, locks.Abbreviate(said))
	}
	return has, has.parse(out)
}

// parse reads what the program has printed.
func (c *credentials) parse(out []byte) error {
	var printed struct {
		Status struct {
			Ends  time.Time `json:"expirationTimestamp"`
			Token string    `json:"token"`
			Cert  string    `json:"clientCertificateData"`
			Key   string    `json:"clientKeyData"`
		} `json:"status"`
	}
	if err := json.Unmarshal(out, &printed); err != nil {
		return errors.New("the plugin did not print an ExecCredential")
	}
	c.token, c.ends = printed.Status.Token, printed.Status.Ends
	if printed.Status.Cert != "" {
		pair, err := tls.X509KeyPair([]byte(printed.Status.Cert), []byte(printed.Status.Key))
		if err != nil {
			return fmt.Errorf("the plugin's certificate: %w", err)
		}
		c.cert = &pair
	}
	if c.token == "" && c.cert == nil {
		return errors.New("the plugin printed neither a token nor a certificate")
	}
	return nil
}

func (p *plugin) close() {
	p.workers.End()
	p.workers.Wait()
}
