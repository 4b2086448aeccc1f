// Package options is what a user may ask of leaderrun, and how it is read: one table of
// options, arguments as getopt reads them, the config file, and between all of these
// one decision on what counts.
//
//	Read       arguments → a Line: which subcommand, which options, what follows
//	Resolve    a Line, variables, the config file → a Request: one Setting for each
//	           option, with where it is from
//	Command.Do sets the values, and does what is asked
package options
