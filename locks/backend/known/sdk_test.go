package known

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend"
)

// harmless are the variables that libraries of backends read, or may seem to read, and that
// no description has: none has a secret. They are patterns, by the reason.
func harmless() map[string][]string {
	return map[string][]string{
		"of the system, or for those who develop the library": {
			"APPDATA", "ARM_ENABLE_EXT", "ARROW_CHECKED_*", "AZURE_SDK_GO_LOGGING", "DEBUG_HTTP2_GOROUTINES", "ETCD_CLIENT_DEBUG", "ETCD_VERIFY",
			"GCP_STORAGE_GO_ENABLE_OTEL_*", "GOARCH", "GOARCH_TARGET", "GODEBUG", "GOLANG_PROTOBUF_REGISTRATION_CONFLICT", "GOLANG_SYS_BUILD",
			"GOOGLE_SDK_GO_*", "GOOS", "GOOS_TARGET", "GOPROTODEBUG", "GO_OTEL_*", "GO_STORAGE_DEV_*", "HOME", "HOMEDRIVE", "HOMEPATH", "HOSTNAME", "JOURNAL_STREAM",
			"KUBE_PATCH_CONVERSION_DETECTOR", "OS", "OTEL_*", "ProgramData", "SYSTEMROOT", "USERPROFILE",
		},
		"a switch of gRPC, or a file for xds:///, which nothing uses": {
			"GRPC_*", "GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY", "GRPC_EXPERIMENTAL_XDS_AUTHORITY_REWRITE",
			"GRPC_EXPERIMENTAL_XDS_BOOTSTRAP_CALL_CREDS", "GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT",
			"GRPC_EXPERIMENTAL_XDS_GCP_AUTHENTICATION_FILTER", "GRPC_XDS_ENDPOINT_HASH_KEY_BACKWARD_COMPAT",
		},
		"where the machine is, or which of a cloud's services runs us": {
			"AWS_DEFAULT_REGION", "AWS_REGION", "BMS_*", "CLOUD_RUN_*", "CONTAINER_NAME", "FUNCTION_TARGET", "GAE_*", "KUBERNETES_SERVICE_HOST",
			"K_*", "MSAL_FORCE_REGION", "NAMESPACE", "REGION_NAME",
		},
		"a name, an address or a file's name, which is useless without a secret that is described": {
			"AWS_ACCESS_KEY_ID", "AZURE_ADDITIONALLY_ALLOWED_TENANTS", "AZURE_KUBERNETES_CA_*", "AZURE_KUBERNETES_SNI_NAME",
			"AZURE_KUBERNETES_TOKEN_PROXY", "AZURE_POD_IDENTITY_AUTHORITY_HOST", "AZURE_REGIONAL_AUTHORITY_NAME", "DEFAULT_IDENTITY_CLIENT_ID",
			"GCE_METADATA_HOST", "GOOGLE_API_CERTIFICATE_CONFIG", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_QUOTA_PROJECT",
			"GOOGLE_CLOUD_UNIVERSE_DOMAIN", "IDENTITY_ENDPOINT", "IDENTITY_SERVER_THUMBPRINT", "IMDS_ENDPOINT", "MSI_ENDPOINT", "PGAPPNAME",
			"STORAGE_EMULATOR_HOST_GRPC", "SYSTEM_OIDCREQUESTURI",
		},
		"a number or a switch": {
			"AZURE_CLIENT_SEND_CERTIFICATE_CHAIN", "AZURE_STORAGE_DISABLE_EXPECT_CONTINUE_HEADER", "AZURE_STORAGE_USE_LEGACY_DEFAULT_CONCURRENCY",
			"DISABLE_HTTP2", "DYNAMIC_READ_REQ_*", "EXPERIMENTAL_GOOGLE_API_USE_S2A", "GOOGLE_API_GO_EXPERIMENTAL_DISABLE_NEW_AUTH_LIB",
			"GOOGLE_API_GO_EXPERIMENTAL_ENABLE_NEW_AUTH_LIB", "GOOGLE_API_USE_*", "GOOGLE_AUTH_TRUST_BOUNDARY_ENABLED", "GOOGLE_CLOUD_DISABLE_DIRECT_PATH",
			"GOOGLE_CLOUD_ENABLE_DIRECT_PATH_*", "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES",
			"HTTP2_PING_TIMEOUT_SECONDS", "HTTP2_READ_IDLE_TIMEOUT_SECONDS", "KUBE_CLIENT_BACKOFF_*", "NO_PROXY", "no_proxy", "PGCHANNELBINDING", "PGCONNECT_TIMEOUT",
			"PGMAXPROTOCOLVERSION", "PGMINPROTOCOLVERSION", "PGREQUIREAUTH", "PGSSLCERTMODE", "PGSSLNEGOTIATION", "PGSSLSNI",
			"PGTARGETSESSIONATTRS", "S2A_TIMEOUT", "STORAGE_DISABLE_DIRECTPATH_BOUND_TOKEN",
		},
		"no variable": {"AWS_ELB_LOAD_BALANCER"},
	}
}

// TestLibrariesAsDescribed checks that each variable that the library of a backend reads is
// described, or known to be harmless, so that --scrub-env removes what a new version of a
// library reads. It finds the names in the source of exactly the files that the helper links.
func TestLibrariesAsDescribed(t *testing.T) {
	t.Parallel()
	f, seen := newFinder(), map[string]found{}
	for _, b := range Backends() {
		if b.BuiltIn {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(f.variablesOf(t, b, seen))) {
			described := slices.ContainsFunc(b.Variables, func(v backend.Variable) bool { return v.Name == name }) ||
				slices.ContainsFunc(b.Refused, func(r backend.Refused) bool { return r.Name == name })
			if !described && !isHarmless(name) {
				t.Errorf("%s: its libraries read %s, which is neither described nor listed here as harmless", b.Scheme, name)
			}
		}
	}
}

func isHarmless(name string) bool {
	// Such a name must be listed itself; no pattern makes it harmless.
	looksSecret := regexp.MustCompile(`PASS|PWD|TOKEN|SECRET|KEY|AUTH|CRED|SAS|SIG|HEADER`)
	for _, patterns := range harmless() {
		for _, pattern := range patterns {
			if ok, _ := path.Match(pattern, name); ok && (pattern == name || !looksSecret.MatchString(name)) {
				return true
			}
		}
	}
	return false
}

// A finder finds names in a source.
type finder struct{ telling, constants, reads *regexp.Regexp }

func newFinder() finder {
	return finder{
		// A call, whose argument is a literal or a constant.
		reads: regexp.MustCompile(`(?:[Gg]etenv|[Ll]ookup[Ee]nv)\((?:"(\w+)"|(?:\w+\.)?(\w+)\))`),
		// A constant, or an entry of a table, with a name of an environment variable.
		constants: regexp.MustCompile(`(\w+)"?\s*(?:=|:|string\s*=)\s*"([A-Z]\w+)"`),
		// A name that can hardly be anything else.
		telling: regexp.MustCompile(`"((?:AZURE|AWS|GOOGLE|GCE|GCLOUD|IDENTITY|IMDS|MSI|STORAGE|SPANNER)_[A-Z0-9_]*[A-Z0-9]|PG[A-Z][A-Z_]{2,})"`),
	}
}

// found has the matches in a file. Backends share most files.
type found struct{ telling, constants, reads [][]string }

func (f finder) search(t *testing.T, file string) found {
	t.Helper()
	source, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	return found{f.telling.FindAllStringSubmatch(text, -1), f.constants.FindAllStringSubmatch(text, -1), f.reads.FindAllStringSubmatch(text, -1)}
}

// variablesOf returns the names of the variables that the libraries of a backend read.
func (f finder) variablesOf(t *testing.T, b *backend.Info, seen map[string]found) map[string]bool {
	t.Helper()
	pkg := "github.com/leaderrun/leaderrun/locks/backend/" + b.Folder + "/" + b.Program()
	c := exec.Command("go", "list", "-tags", "urfave_cli_no_docs,grpcnotrace,disable_grpc_modules", "-deps",
		"-f", `{{if and (not .Standard) .Module}}{{if not .Module.Main}}{{range .GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`, pkg)
	c.Env = append(c.Environ(), "GOOS=linux", "GOFLAGS=")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", pkg, err)
	}
	all, constants, read := map[string]bool{}, map[string][]string{}, map[string]bool{}
	for _, file := range strings.Fields(string(out)) {
		if _, known := seen[file]; !known {
			seen[file] = f.search(t, file)
		}
		in := seen[file]
		for _, m := range in.telling {
			all[m[1]] = true
		}
		for _, m := range in.constants {
			constants[m[1]] = append(constants[m[1]], m[2])
		}
		for _, m := range in.reads {
			all[m[1]], read[m[2]] = true, true
		}
	}
	for constant := range read {
		for _, name := range constants[constant] {
			all[name] = true
		}
	}
	delete(all, "")
	return all
}
