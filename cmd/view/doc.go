// Package view is what an operator sees of locks: their states as a table, as
// JSON, as changes, or on a live screen. It reads through handles that never
// acquire, and trusts nothing of what it reads.
package view
