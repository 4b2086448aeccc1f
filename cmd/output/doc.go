// Package output prints all that leaderrun says: messages for people or as JSON, one line
// while it waits, events, and at the end an error. It also maps that error to the exit
// status. Nothing here blocks, even if what it prints to stalls.
package output

// Width is the width of the narrowest terminal that help and messages fit, in columns.
const Width = 80
