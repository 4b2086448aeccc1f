package cmd

import (
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"
)

// versionName is an option, as timeout(1) and flock(1) have it. route turns it
// into the version command.
const versionName = "version"

func versionFlag() cli.Flag {
	return &cli.BoolFlag{Name: versionName, Aliases: []string{"V"}, Usage: "print the version", Category: "Help"}
}

func (p *program) versionCommand() *cli.Command {
	return &cli.Command{
		Name:  versionName,
		Usage: "print the version",
		Action: func(ctx *cli.Context) error {
			if err := noArguments(ctx); err != nil {
				return err
			}
			_, err := fmt.Fprintf(p.out, "leaderrun %s (%s, %s/%s)\n", p.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
