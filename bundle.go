//go:build bundle

package main

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/etcd"
)

// bundle links every backend into this one file, for people who copy a single
// binary. It starts slower and is larger with each backend.
func bundle(r *locks.Registry) {
	r.Register("etcd", etcd.Open)
}
