//go:build ignore

// This program writes the generated parts of the pages in the working directory. It is
// not a separate package, because "go install ./..." would install it.
package main

import (
	"bytes"
	"log"
	"os"

	"github.com/leaderrun/leaderrun/man"
)

func main() {
	pages, err := man.Pages(".")
	if err != nil {
		log.Fatal(err)
	}
	for _, page := range pages {
		if err := write(page); err != nil {
			log.Fatal(err)
		}
	}
}

func write(page string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	now, err := man.Generate(page, old)
	if err != nil || bytes.Equal(old, now) {
		return err
	}
	return os.WriteFile(page, now, 0o644)
}
