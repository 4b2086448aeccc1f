// Package view shows locks to an operator: as a table, as JSON, as changes, or on a live
// screen. It reads through handles that never acquire, and does not trust what it reads.
package view
