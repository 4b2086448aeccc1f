//go:build race

package testscripts

const detectsRaces = true
