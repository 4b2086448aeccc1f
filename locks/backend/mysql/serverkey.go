package mysql

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// With the plugins caching_sha2_password, the default of MySQL 8, and sha256_password, a
// server without TLS may want the password itself, encrypted with its RSA key. Anybody who
// answers can give a key of his own, and so learn the password. So as with the program mysql,
// a key is only taken from a file (server-public-key-path), or from the server if the user
// says so (get-server-public-key). The driver asks the server for a key unless it has one.

// noKey is the name of a key that can encrypt nothing.
const noKey = "none"

const hintKey = "without TLS, anybody who answers could ask for the password: speak TLS (tls=true, or cacert=FILE), or give the server's key with server-public-key-path in ~/.my.cnf; get-server-public-key there trusts any server"

// setServerKey reads which key of the server may be used.
func (s *settings) setServerKey(o options) error {
	file := o["server-public-key-path"]
	switch {
	case file != "":
		text, err := os.ReadFile(file)
		if err != nil {
			return locks.Usagef("the option file: server-public-key-path: %v", err)
		}
		key, err := parseKey(text)
		if err != nil {
			return locks.Usagef("the option file: server-public-key-path: %v in %s", err, file)
		}
		s.serverKey = file
		mysql.RegisterServerPubKey(file, key)
	case !isOn(o["get-server-public-key"]):
		s.serverKey = noKey
		mysql.RegisterServerPubKey(noKey, &rsa.PublicKey{N: big.NewInt(1), E: 3})
	}
	return nil
}

func parseKey(text []byte) (*rsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no public key")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("not a key of RSA")
	}
	return key, nil
}

// isNoKey reports whether a login has ended because the server wanted the password encrypted
// with its own key. The error is that of encrypting with noKey.
func isNoKey(err error) bool { return strings.HasPrefix(err.Error(), "crypto/rsa: ") }

// trustsAnyKey reports whether anybody who answers at an address without TLS could learn the
// password.
func (s *settings) trustsAnyKey(addr string) bool {
	return s.serverKey == "" && s.secret() != "" && !hosts.Local(addr)
}
