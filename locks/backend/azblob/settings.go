package azblob

import (
	"cmp"
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
)

const (
	defaultPrefix = "leaderrun"
	// maxPrefix, in bytes, leaves room in the 1024 characters of a blob's name for the
	// longest name of a lock: 200 bytes, each of which may become three.
	maxPrefix = 400
)

// The names that the service accepts, but for rules that it checks itself.
var (
	validAccount   = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	validContainer = regexp.MustCompile(`^(\$root|[a-z0-9-]{3,63})$`)
)

// settings are what a URL and the environment say.
type settings struct {
	account, container string
	prefix             string // "a/b": no slash at either end
	service            string // "https://account.blob.core.windows.net": no slash at the end

	// Credentials: a key of the account, or a SAS token, which may be in a file, or else those
	// of a login.
	key, sas string
	sasFile  *reload.Value[string] // nil: there is no file
}

// signed reports whether requests have a SAS token.
func (s *settings) signed() bool { return s.sas != "" || s.sasFile != nil }

// token returns the current SAS token.
func (s *settings) token(log *slog.Logger) string { return cmp.Or(s.sasFile.Now(log), s.sas) }

// onlyToken returns the SAS token in a file.
func onlyToken(contents [][]byte) (string, error) {
	token := strings.TrimPrefix(strings.TrimSpace(string(contents[0])), "?")
	if query, err := url.ParseQuery(token); err != nil || query.Get("sig") == "" {
		return "", errors.New("no SAS token")
	}
	return token, nil
}

// ends returns when a SAS token ends, or the zero time if it does not say so.
func ends(token string) (end time.Time) {
	query, _ := url.ParseQuery(token) // without an end if it makes no sense
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z", time.DateOnly} {
		if at, err := time.Parse(form, query.Get("se")); err == nil {
			end = at
		}
	}
	return end
}

// parse reads the URL, and takes what it omits from the environment. All errors wrap
// locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := known.Azblob.CheckURL(u); err != nil {
		return nil, err
	}
	switch {
	case u.User != nil:
		return nil, locks.Usagef("an azblob URL cannot have a user; credentials come from the environment")
	case u.Port() != "":
		return nil, locks.Usagef("an azblob URL has an account and cannot have a port; give another address of the service with endpoint=URL")
	}
	env, err := connection(getenv)
	if err != nil {
		return nil, err
	}
	file, err := reload.OpenSecret("sas-file", onlyToken, u.Query().Get("sas-file"))
	if err != nil {
		return nil, locks.Usagef("%v", err)
	}
	if file != nil {
		env.key, env.sas = "", ""
	}
	s := &settings{account: cmp.Or(u.Host, env.account), key: env.key, sas: strings.TrimPrefix(env.sas, "?"), sasFile: file}
	path := strings.Trim(u.Path, "/")
	s.container, s.prefix, _ = strings.Cut(cmp.Or(path, strings.Trim(getenv("LEADERRUN_AZBLOB_CONTAINER"), "/")), "/")
	s.prefix = cmp.Or(s.prefix, defaultPrefix)
	switch {
	case s.account == "":
		return nil, locks.Usagef("no storage account is named; write azblob://account/container/prefix, or set AZURE_STORAGE_ACCOUNT")
	case !validAccount.MatchString(s.account):
		return nil, locks.Usagef("invalid storage account %q (want 3 to 24 characters of a-z 0-9)", locks.Abbreviate(s.account))
	case s.container == "":
		return nil, locks.Usagef("no container is named; write azblob://account/container/prefix, or set LEADERRUN_AZBLOB_CONTAINER")
	case !validContainer.MatchString(s.container):
		return nil, locks.Usagef("invalid container %q (want 3 to 63 characters of a-z 0-9 -)", locks.Abbreviate(s.container))
	case env.account != "" && env.account != s.account && env.credentials():
		return nil, locks.Usagef("the environment has credentials of the storage account %q, but the URL names %q", locks.Abbreviate(env.account), s.account)
	}
	if err := checkPrefix(s.prefix); err != nil {
		return nil, err
	}
	cloud, known := suffix(getenv("AZURE_CLOUD_NAME"))
	s.service = cmp.Or(u.Query().Get("endpoint"), env.endpoint, "https://"+s.account+".blob."+cmp.Or(env.suffix, cloud))
	if !known && env.suffix == "" && env.endpoint == "" && !u.Query().Has("endpoint") {
		return nil, locks.Usagef("the cloud in AZURE_CLOUD_NAME is unknown: give endpoint=")
	}
	return s, s.checkService()
}

// suffix returns how the names of the servers of one of Azure's clouds end.
func suffix(cloud string) (end string, known bool) {
	switch strings.ToLower(cloud) {
	case "", "azurecloud":
		return "core.windows.net", true
	case "azureusgovernment":
		return "core.usgovcloudapi.net", true
	case "azurechinacloud":
		return "core.chinacloudapi.cn", true
	}
	return "", false
}

// checkService checks the address of the service. Access tokens are not sent without TLS.
func (s *settings) checkService() error {
	s.service = strings.TrimRight(s.service, "/")
	e, err := url.Parse(s.service)
	if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Hostname() == "" || e.User != nil || e.RawQuery != "" || e.Fragment != "" {
		return locks.Usagef("invalid endpoint (want the address of a blob service, like https://account.blob.core.windows.net or http://127.0.0.1:10000/devstoreaccount1, without a query)")
	}
	if e.Scheme == "http" && s.key == "" && !s.signed() {
		return locks.Usagef("the endpoint does not use TLS, so it needs sas-file=, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING")
	}
	return nil
}

func checkPrefix(p string) error {
	if len(p) > maxPrefix {
		return locks.Usagef("the prefix of the blobs has %d bytes; at most %d are allowed", len(p), maxPrefix)
	}
	if strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar || r == '\\' }) {
		return locks.Usagef("the prefix of the blobs has a backslash or a character that cannot be printed: %q", locks.Abbreviate(p))
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || strings.HasSuffix(part, ".") {
			return locks.Usagef("the prefix of the blobs has %q between slashes", part)
		}
	}
	return nil
}

// An environment is what the variables of Azure's tools say.
type environment struct {
	account, endpoint, suffix string
	key, sas                  string
}

func (e *environment) credentials() bool { return e.key != "" || e.sas != "" }

// connection reads the variables. As in az, a connection string overrides the others, and with
// the mode login, keys and tokens do not count.
func connection(getenv func(string) string) (*environment, error) {
	e, err := connectionString(getenv)
	if err == nil && getenv("AZURE_STORAGE_AUTH_MODE") == "login" {
		e.key, e.sas = "", ""
	}
	return e, err
}

func connectionString(getenv func(string) string) (*environment, error) {
	text := getenv("AZURE_STORAGE_CONNECTION_STRING")
	if text == "" {
		return &environment{
			account: getenv("AZURE_STORAGE_ACCOUNT"), endpoint: getenv("AZURE_STORAGE_SERVICE_ENDPOINT"),
			key: getenv("AZURE_STORAGE_KEY"), sas: getenv("AZURE_STORAGE_SAS_TOKEN"),
		}, nil
	}
	value := map[string]string{}
	for part := range strings.SplitSeq(strings.Trim(text, "; "), ";") {
		name, v, ok := strings.Cut(part, "=")
		if !ok {
			return nil, locks.Usagef("AZURE_STORAGE_CONNECTION_STRING is not a list of NAME=VALUE with semicolons between them")
		}
		name = strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains([]string{"accountname", "accountkey", "sharedaccesssignature", "defaultendpointsprotocol", "endpointsuffix", "usedevelopmentstorage"}, name) && !strings.HasSuffix(name, "endpoint") {
			return nil, locks.Usagef("AZURE_STORAGE_CONNECTION_STRING has a name that the backend azblob does not support (want AccountName, AccountKey, SharedAccessSignature, DefaultEndpointsProtocol, EndpointSuffix, BlobEndpoint or UseDevelopmentStorage)") // the name may be a part of a key
		}
		value[name] = v
	}
	if value["usedevelopmentstorage"] == "true" {
		return emulator(), nil
	}
	e := &environment{account: value["accountname"], endpoint: value["blobendpoint"], suffix: value["endpointsuffix"], key: value["accountkey"], sas: value["sharedaccesssignature"]}
	if e.endpoint == "" && value["defaultendpointsprotocol"] == "http" {
		e.endpoint = "http://" + e.account + ".blob." + cmp.Or(e.suffix, "core.windows.net")
	}
	return e, nil
}

// emulator returns the account that every emulator has, with its public key. See
// https://learn.microsoft.com/azure/storage/common/storage-connect-azurite.
func emulator() *environment {
	return &environment{
		account: "devstoreaccount1", endpoint: "http://127.0.0.1:10000/devstoreaccount1",
		key: "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
	}
}
