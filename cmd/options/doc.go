// Package options has the table of options, and reads them: from arguments, as getopt
// does, from variables and from the config file. One function decides which of these
// applies.
//
//	Read       arguments → a Line: which subcommand, which options, what follows
//	Resolve    a Line, variables, the config file → an Invocation: one Setting for each
//	           option, which says where the value comes from
//	Command.Do sets the values, and does the subcommand's work
//
// An option is a row of the table: its names, where its value goes, its default, its help, and
// what may set it. Its name determines its variable and its key in a config file. A subcommand
// takes rows of the table, and adds its own.
//
// Resolve decides once which value counts. The command line goes before the option's variable;
// then come the job of the config file, the top of the file, and the default. `leaderrun config
// show` prints these decisions. If two options contradict each other, the one of higher rank
// wins, and options that make sense only with the other are dropped with it.
//
// Of urfave/cli we use the flags, which take the values, and nothing else: it reads -nE0 as one
// option, and knows neither jobs of a config file nor contradictions. Its App links templates for
// a help that is not ours, a quarter of the core, and ends the process with the exit code of a
// job.
package options
