//go:build unix && race

package guard

const raced = true
