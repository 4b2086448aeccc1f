package azblob

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	const public = "https://acc.blob.core.windows.net"
	for _, tt := range []struct {
		url  string
		env  map[string]string
		want settings
	}{
		{"azblob://acc/con", nil, settings{"acc", "con", "leaderrun", public, "", "", nil}},
		{"azblob://acc/con/a/b/", nil, settings{"acc", "con", "a/b", public, "", "", nil}},
		{"azblob:", map[string]string{"AZURE_STORAGE_ACCOUNT": "acc", "LEADERRUN_AZBLOB_CONTAINER": "con/p", "AZURE_STORAGE_KEY": "k"}, settings{"acc", "con", "p", public, "k", "", nil}},
		{"azblob://acc/con", map[string]string{"AZURE_STORAGE_SAS_TOKEN": "?sv=1&sig=s"}, settings{"acc", "con", "leaderrun", public, "", "sv=1&sig=s", nil}},
		{"azblob://acc/con", map[string]string{"AZURE_STORAGE_ACCOUNT": "other"}, settings{"acc", "con", "leaderrun", public, "", "", nil}},
		{"azblob://acc/con?endpoint=https%3A%2F%2Facc.blob.core.chinacloudapi.cn%2F", nil, settings{"acc", "con", "leaderrun", "https://acc.blob.core.chinacloudapi.cn", "", "", nil}},
		{"azblob:///con", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=a2V5==;EndpointSuffix=core.usgovcloudapi.net", "AZURE_STORAGE_KEY": "not this"}, settings{"acc", "con", "leaderrun", "https://acc.blob.core.usgovcloudapi.net", "a2V5==", "", nil}},
		{"azblob://acc/con", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "BlobEndpoint=https://acc.example.com/;SharedAccessSignature=sv=1&sig=s"}, settings{"acc", "con", "leaderrun", "https://acc.example.com", "", "sv=1&sig=s", nil}},
		{"azblob://acc/con", map[string]string{"AZURE_STORAGE_AUTH_MODE": "login", "AZURE_STORAGE_KEY": "k", "AZURE_STORAGE_SAS_TOKEN": "s"}, settings{"acc", "con", "leaderrun", public, "", "", nil}},
		{"azblob://acc/con", map[string]string{"AZURE_CLOUD_NAME": "AzureUSGovernment"}, settings{"acc", "con", "leaderrun", "https://acc.blob.core.usgovcloudapi.net", "", "", nil}},
		{"azblob://acc/con?endpoint=https://e", map[string]string{"AZURE_CLOUD_NAME": "Own", "AZURE_STORAGE_SERVICE_ENDPOINT": "https://f"}, settings{"acc", "con", "leaderrun", "https://e", "", "", nil}},
		{"azblob://acc/con", map[string]string{"AZURE_CLOUD_NAME": "Own", "AZURE_STORAGE_SERVICE_ENDPOINT": "https://f"}, settings{"acc", "con", "leaderrun", "https://f", "", "", nil}},
		{"azblob:///con", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "UseDevelopmentStorage=true"}, settings{"devstoreaccount1", "con", "leaderrun", "http://127.0.0.1:10000/devstoreaccount1", emulator().key, "", nil}},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse(u, func(name string) string { return tt.env[name] })
		if err != nil || *got != tt.want {
			t.Errorf("%s %v: got %+v, %v; want %+v", tt.url, tt.env, got, err, tt.want)
		}
	}
}

func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]string{
		"azblob:":                            "no storage account",
		"azblob://acc":                       "no container",
		"azblob://Acc.example/con":           "invalid storage account",
		"azblob://acc/a_b":                   "invalid container",
		"azblob://acc/con/a//b":              "between slashes",
		"azblob://acc/con/a./b":              "between slashes",
		"azblob://acc/con/a%5Cb":             "backslash",
		"azblob://u@acc/con":                 "cannot have a user",
		"azblob://acc:1/con":                 "cannot have a port",
		"azblob://acc/con?endpoint=x":        "invalid endpoint",
		"azblob://acc/con?endpoint=http://x": "does not use TLS",
		"azblob://acc/con?endpoint=https%3A%2F%2Fx%3Fsig%3Dsecret": "without a query",
		"azblob://acc/con?key=x":                                   "unknown azblob parameter",
		"azblob://acc/" + strings.Repeat("c", 64):                  "invalid container",
		"azblob://acc/con/" + strings.Repeat("p", 401):             "401 bytes",
	} {
		badSettings(t, rawURL, nil, want)
	}
	badSettings(t, "azblob://acc/con", map[string]string{"AZURE_STORAGE_ACCOUNT": "other", "AZURE_STORAGE_KEY": "secret"}, `"other"`)
	badSettings(t, "azblob://acc/con", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "secret"}, "NAME=VALUE")
	badSettings(t, "azblob://acc/con", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://secret"}, "does not support")
	badSettings(t, "azblob://acc/con", map[string]string{"AZURE_CLOUD_NAME": "Own"}, "give endpoint=")
	badSettings(t, "azblob://acc/con", map[string]string{"AZURE_STORAGE_KEY": "secret, not base64"}, "base64")
}

func badSettings(t *testing.T, rawURL string, env map[string]string, want string) {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	s, err := parse(u, func(name string) string { return env[name] })
	if err == nil {
		_, err = newStore(s, locks.Options{})
	}
	if !errors.Is(err, locks.ErrUsage) || !strings.Contains(fmt.Sprint(err), want) || strings.Contains(fmt.Sprint(err), "secret") {
		t.Errorf("%s %v: got %v; want %s", rawURL, len(env), err, want)
	}
}

// TestTTL: a lease above 60 s is refused, because the service would only grant one without
// end.
func TestTTL(t *testing.T) {
	t.Parallel()
	u, _ := url.Parse("azblob://acc/con?endpoint=https://127.0.0.1:1")
	for ttl, ok := range map[time.Duration]bool{1: true, 15 * time.Second: true, time.Minute: true, time.Minute + 1: false, 24 * time.Hour: false} {
		l, err := Open(t.Context(), u, locks.Options{Name: "a", TTL: ttl, ConnectTimeout: time.Second})
		if err == nil {
			_ = l.Close()
		}
		if (err == nil) != ok || err != nil && (!errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), "15s to 1m0s")) {
			t.Errorf("%v: %v", ttl, err)
		}
	}
}

// TestEncode: every text comes back, and the largest take less than the service has room
// for.
func TestEncode(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "x", "x ", "é", "\x00\x1b", encoded, encoded + "x", `{"a":"b c"}`, strings.Repeat("\x00", 4096), strings.Repeat("é", 2048)} {
		value := encode(text)
		if got, ok := decode(value); !ok || got != text {
			t.Errorf("%q came back as %q from %q", text, got, value)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) || len(value) > len(encoded)+(len(text)+3)/4*5 {
			t.Errorf("%q is encoded as %q", text, value)
		}
	}
}
