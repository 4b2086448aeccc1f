// Package caslease makes a lock of any store that can change one small value only
// if it is as it was read.
package caslease
