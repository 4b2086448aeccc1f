//go:build !race

package votes

const raced = false
