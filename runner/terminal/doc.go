// Package terminal shares the terminal that we were started on with a job that
// has a process group of its own.
//
// A terminal has one foreground group: it alone may read, and gets what Ctrl-C,
// Ctrl-\, Ctrl-Z and a new window size send. Our group, the one that a shell
// made for us and for what we share a pipeline with, is it when we are started
// in the foreground. The job's is another one, or it could not be signalled and
// killed apart from our neighbours. So we are to the job what a shell is: we
// hand the terminal on, and take it back when the job stops or ends.
//
// For the shells' side of it see "Implementing a Job Control Shell" in the
// manual of the GNU C library.
package terminal
