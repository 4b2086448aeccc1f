// Package terminal shares the terminal that we were started on with a job that
// has a process group of its own.
//
// A terminal has one foreground group. Only that group may read from the terminal, and it
// gets the signals of Ctrl-C, Ctrl-\, Ctrl-Z and a new window size. A shell makes a group
// for us and for the other commands in our pipeline. It is the foreground group if we are
// started in the foreground. The job has another group, so that it can be signalled and
// killed without our neighbours. So we do for the job what a shell does for us: we give it
// the terminal, and take it back when the job is suspended or ends.
//
// Package runner decides, in suspend.go, what happens when the job or we are suspended. Until the
// job has the terminal, Ctrl-C reaches us, and is passed on. The terminal's modes are restored if
// the job was suspended or killed, and set again when it continues; a job that ends by itself may
// change them.
//
// For the shell's side see "Implementing a Job Control Shell" in the manual of the GNU C
// library.
package terminal
