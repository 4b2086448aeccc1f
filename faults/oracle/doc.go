// Package oracle judges what the jobs of a fleet have written down (package trace):
// whether two were ever there at one time, and whether anything is left of them.
package oracle
