package realserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A CA is a certificate authority that lives as long as a test.
type CA struct {
	CertFile string // PEM

	tb   testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// A Cert says which certificate to issue. The zero value is for 127.0.0.1 and localhost,
// valid now, for servers and clients.
type Cert struct {
	Hosts   []string // names and addresses
	Expired bool
	Lasts   time.Duration // 0 means a day
}

// NewCA makes a certificate authority.
func NewCA(tb testing.TB) *CA {
	tb.Helper()
	ca := &CA{tb: tb, dir: tb.TempDir()}
	ca.key = ca.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "leaderrun test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &ca.key.PublicKey, ca.key)
	ca.check(err)
	ca.cert, err = x509.ParseCertificate(der)
	ca.check(err)
	ca.CertFile = ca.write("ca.pem", "CERTIFICATE", der)
	return ca
}

// Issue makes a certificate and returns the file names of it and its key. The name is
// also the certificate's common name.
func (ca *CA) Issue(name string, c Cert) (certFile, keyFile string) {
	ca.tb.Helper()
	key := ca.newKey()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	ca.check(err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if c.Lasts != 0 {
		template.NotAfter = time.Now().Add(c.Lasts)
	}
	if c.Expired {
		template.NotAfter = time.Now().Add(-time.Hour)
	}
	hosts := c.Hosts
	if hosts == nil {
		hosts = []string{"127.0.0.1", "localhost"}
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &key.PublicKey, ca.key)
	ca.check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key) // Java can read this as well
	ca.check(err)
	return ca.write(name+".pem", "CERTIFICATE", der), ca.write(name+"-key.pem", "PRIVATE KEY", private)
}

func (ca *CA) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ca.check(err)
	return key
}

func (ca *CA) write(name, kind string, der []byte) string {
	path := filepath.Join(ca.dir, name)
	ca.check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

func (ca *CA) check(err error) {
	ca.tb.Helper()
	if err != nil {
		ca.tb.Fatal(err)
	}
}
