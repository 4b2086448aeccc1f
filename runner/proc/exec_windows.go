package proc

import "os"

// Exec runs a command as if it replaced this process, which is not possible here: the
// command ends with us, and we with it. A CTRL_BREAK that is sent to our job also reaches
// the command. An error is a *[StartError] if it is the command's.
func Exec(c Command, _ int) (Exit, error) {
	if err := Enclose(); err != nil {
		return Exit{}, err
	}
	p, err := os.StartProcess(c.Path, c.Args, &os.ProcAttr{
		Env:   c.Env,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return Exit{}, NewStartError(c.Path, err)
	}
	st, err := p.Wait()
	if err != nil {
		return Exit{}, err
	}
	return Exit{Code: st.ExitCode()}, nil
}
