// Package docs has what users read, and tests that it is true:
//
//	go test ./docs
//	go test ./docs -run 'TestDocs/tutorial.md' -v    # one file, and what its commands print
//
// Each command in README.md and in the files here is run, in the order in which a reader
// meets it. Each file has its own machine: Linux namespaces, so that the ports that the
// text uses are free. The machine has its own /usr/local, /home, /var/lib and clone of the
// repository, leaderrun is installed as by `make install`, and etcd is in PATH. Rewriting ports
// in the commands would be easier, but the commands themselves must be right.
//
// The language of a block says what it is:
//
//	sh       commands; each must succeed
//	console  commands after "$ ", with more lines after "> ", and what they print
//	crontab  lines of crontab(5); their commands must succeed, with the environment of cron
//	yaml     a config file of leaderrun, which `leaderrun config show` must accept
//	ini      a unit of systemd, which `systemd-analyze verify` must accept
//	json     a JSON value per line
//	text     no commands
//
// In a console's output, … stands for anything, and a line with nothing else for any
// number of lines. Times, random ids, the holder's process, fractions of seconds and
// numbers of four digits or more need only be of the same kind. The number of spaces
// between columns does not matter. Later output of a command that goes on is in a block
// that begins without a prompt.
//
// Comments above a block, which no reader sees, have directives:
//
//	<!-- not run: REASON -->          it cannot run here
//	<!-- run instead: COMMANDS -->    the nearest thing that can
//	<!-- file: NAME -->               it is the contents of this file, in any language
//	<!-- terminal: NAME -->           it is typed in another terminal
//	<!-- goes on: REASON -->          its last command does not end by itself
//	<!-- run: COMMANDS -->            commands that no reader sees; it needs no block
package docs
