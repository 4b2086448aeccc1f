//go:build ignore

// This program writes the generated parts of the tree. It is not a package, because "go
// install ./..." would install it.
package main

import (
	"bytes"
	"log"
	"os"
	"path/filepath"

	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/internal/places"
)

const root = "../../.."

func main() {
	for _, file := range places.Files() {
		if err := write(filepath.Join(root, file), file); err != nil {
			log.Fatal(err)
		}
	}
}

func write(path, file string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	now, err := places.Generate(file, old, known.Backends())
	if err != nil || bytes.Equal(old, now) {
		return err
	}
	return os.WriteFile(path, now, 0o644)
}
