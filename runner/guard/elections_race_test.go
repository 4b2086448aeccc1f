//go:build race

package guard

const raced = true
