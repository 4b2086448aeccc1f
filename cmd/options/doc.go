// Package options has the table of options, and reads them: from arguments, as getopt
// does, from variables and from the config file. One function decides which of these
// applies.
//
//	Read       arguments → a Line: which subcommand, which options, what follows
//	Resolve    a Line, variables, the config file → an Invocation: one Setting for each
//	           option, which says where the value comes from
//	Command.Do sets the values, and does the subcommand's work
package options
