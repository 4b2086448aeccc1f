//go:build !bundle

package main

import "github.com/leaderrun/leaderrun/locks"

// bundle links nothing: backends are helper programs.
func bundle(*locks.Registry) {}
