// Package output prints what leaderrun has to say: messages for people or as JSON, one
// line while it waits, events, and at the end an error and the exit status that stands
// for it. Whatever it prints to may stall: nothing here blocks.
package output

// Width is that of the narrowest terminal that we care for, in columns.
const Width = 80
