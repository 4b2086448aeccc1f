package azblob

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/bounded"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// maxAnswer is the most that is read of an answer, in bytes. A page of a list has up to
// [locks.MaxList] blobs with 8 KiB of metadata each, of which one byte may become six.
const maxAnswer = locks.MaxList * 64 << 10

// newClient returns the SDK's client, which does not connect. It does not retry: a retry
// could make a write succeed twice, or hide that the fate of the first attempt is unknown.
func newClient(s *settings, t http.RoundTripper, log *slog.Logger) (*container.Client, error) {
	options := azcore.ClientOptions{
		Retry:     policy.RetryOptions{MaxRetries: -1},
		Telemetry: policy.TelemetryOptions{Disabled: true},
		Transport: &http.Client{Transport: limited{t}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	u, o := s.service+"/"+s.container, &container.ClientOptions{ClientOptions: options}
	switch {
	case s.key != "":
		key, err := container.NewSharedKeyCredential(s.account, s.key)
		if err != nil { // its text may have a part of the key
			return nil, locks.Usagef("the key of the storage account is not in base64")
		}
		return container.NewClientWithSharedKeyCredential(u, key, o)
	case s.signed():
		o.PerCallPolicies = []policy.Policy{signer{s, log}}
		return container.NewClientWithNoCredential(u, o)
	}
	chain, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: azcore.ClientOptions{Transport: options.Transport, Telemetry: options.Telemetry}})
	if err != nil {
		return nil, locks.Usagef("credentials of Azure: %s", locks.Printable(err.Error()))
	}
	return container.NewClient(u, newCredential(chain), o)
}

// A signer adds the SAS token to each request.
type signer struct {
	settings *settings
	log      *slog.Logger
}

// Do implements [policy.Policy].
func (p signer) Do(r *policy.Request) (*http.Response, error) {
	u := r.Raw().URL
	u.RawQuery = strings.Trim(u.RawQuery+"&"+p.settings.token(p.log), "&")
	return r.Next()
}

// newTransport returns a transport that speaks HTTP/1.1. With HTTP/2, all requests share
// one connection. If that fell silent, every renewal would hang until the system gives it
// up. With HTTP/1.1, a request without an answer in time closes its connection.
func newTransport(service string, connectTimeout time.Duration) *http.Transport {
	idle := 4 * time.Second // emulators close idle connections after 5 s, and a write that meets that fails
	if strings.HasPrefix(service, "https:") {
		idle = 30 * time.Second // the service keeps them for minutes, and each costs a TLS handshake
	}
	http1 := new(http.Protocols)
	http1.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            bounded.Dialer(hosts.Dialer(dialer.DialContext)),
		TLSHandshakeTimeout:    connectTimeout,
		Protocols:              http1,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        idle,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// limited limits what is read of each answer.
type limited struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}
