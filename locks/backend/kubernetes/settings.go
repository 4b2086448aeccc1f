package kubernetes

import (
	"cmp"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/program/trust"
)

// inPod is what a pod's own cluster is called, and where the pod learns of its namespace.
const (
	inPod         = "in-cluster"
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// settings are what the URL and the environment say.
type settings struct {
	context   string   // "": the current one, or that of the pod
	namespace string   // "": that of the context, or of the pod
	file      string   // the kubeconfig; "": files, or in a pod none
	files     []string // kubeconfigs, of which each adds to those before
	pod       string   // the namespace of the pod, if a variable says so
}

// parse reads a URL, and takes what it leaves open from the variables of kubectl. It reads no
// file. All errors wrap locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := known.Kubernetes.CheckURL(u); err != nil {
		return nil, err
	}
	if err := known.Kubernetes.CheckVariables(u, getenv); err != nil {
		return nil, err
	}
	s := &settings{context: u.Query().Get("context"), file: u.Query().Get("kubeconfig"), pod: getenv("POD_NAMESPACE")}
	host := u.Host
	if u.User != nil { // kubeadm calls its context kubernetes-admin@kubernetes
		if _, secret := u.User.Password(); secret {
			return nil, locks.Usagef("a k8s URL has no password: it is in the kubeconfig")
		}
		host = u.User.Username() + "@" + host
	}
	if host != "" && s.context != "" {
		return nil, locks.Usagef("the k8s URL names two contexts: %q and context=%q", locks.Abbreviate(host), locks.Abbreviate(s.context))
	}
	s.context = cmp.Or(s.context, host)
	s.namespace = strings.Trim(u.Path, "/")
	if s.namespace != "" && !isNamespace(s.namespace) {
		return nil, locks.Usagef("the k8s URL has a namespace %q (want a name of small letters, digits and hyphens)", locks.Abbreviate(s.namespace))
	}
	for _, file := range filepath.SplitList(getenv("KUBECONFIG")) {
		if file != "" && !slices.Contains(s.files, file) {
			s.files = append(s.files, file)
		}
	}
	if s.files == nil {
		s.files = []string{clientcmd.RecommendedHomeFile}
	}
	return s, nil
}

func isNamespace(name string) bool { return len(name) <= 63 && label.MatchString(name) }

// A cluster is where the Leases are, and who we are there.
type cluster struct {
	config    *rest.Config
	plugin    *clientcmdapi.ExecConfig // makes the credentials; nil: config has them
	context   string
	namespace string
}

// invalid says that the configuration of a context cannot be used.
func (c *cluster) invalid(err error) error {
	return locks.Usagef("context %s: %s", locks.Abbreviate(c.context), locks.Printable(err.Error()))
}

// load reads the files. All errors wrap locks.ErrUsage.
func (s *settings) load() (*cluster, error) {
	for _, file := range s.tried() { // it can name a program, which we run
		if _, _, err := trust.File(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, locks.Usagef("kubeconfig: cannot use %s: %s", file, locks.Printable(err.Error()))
		}
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: s.file, Precedence: s.files}
	files, err := rules.Load()
	if err != nil {
		return nil, locks.Usagef("kubeconfig: %s", locks.Printable(err.Error()))
	}
	c, err := s.choose(files)
	if err != nil {
		return nil, err
	}
	c.plugin, c.config.ExecProvider = c.config.ExecProvider, nil
	switch {
	case c.config.AuthProvider != nil:
		return nil, locks.Usagef("context %s: the auth-provider %q is not supported: use a plugin that kubectl runs (exec:), or a token", locks.Abbreviate(c.context), locks.Abbreviate(c.config.AuthProvider.Name))
	case c.plugin != nil && c.plugin.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode:
		return nil, locks.Usagef("context %s: the plugin %s asks questions (interactiveMode: Always), which nobody would answer", locks.Abbreviate(c.context), locks.Abbreviate(c.plugin.Command))
	case c.namespace == "kube-system" || c.namespace == "kube-node-lease":
		return nil, locks.Usagef("the Leases in the namespace %s belong to the cluster: name another namespace, as in k8s:///default", c.namespace)
	case !isNamespace(c.namespace):
		return nil, locks.Usagef("context %s: invalid namespace %q", locks.Abbreviate(c.context), locks.Abbreviate(c.namespace))
	}
	return c, nil
}

// choose returns the cluster of a context, or the one in whose pod we are. As with kubectl, a
// kubeconfig goes before the pod.
func (s *settings) choose(files *clientcmdapi.Config) (*cluster, error) {
	name := cmp.Or(s.context, files.CurrentContext)
	if name == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, locks.Usagef("no context in %s, and this is no pod: set KUBECONFIG, or write k8s://CONTEXT", strings.Join(s.tried(), ", "))
		}
		if err != nil {
			return nil, locks.Usagef("the pod's service account: %s", locks.Printable(err.Error()))
		}
		own, _ := os.ReadFile(namespaceFile) // without one, the pod has the default
		return &cluster{config: config, context: inPod, namespace: cmp.Or(s.namespace, s.pod, strings.TrimSpace(string(own)), "default")}, nil
	}
	if files.Contexts[name] == nil {
		return nil, locks.Usagef("no context %q in %s (kubectl config get-contexts lists them)", locks.Abbreviate(name), strings.Join(s.tried(), ", "))
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*files, name, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, (&cluster{context: name}).invalid(err)
	}
	return &cluster{config: config, context: name, namespace: cmp.Or(s.namespace, files.Contexts[name].Namespace, "default")}, nil
}

// tried returns the kubeconfigs that count.
func (s *settings) tried() []string {
	if s.file != "" {
		return []string{s.file}
	}
	return s.files
}
