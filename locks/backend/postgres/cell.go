package postgres

import (
	"encoding/hex"
	"fmt"

	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/rows"
)

// cell returns the cell of a row, whose columns are those of columns.
func cell(row [][]byte) (caslease.Cell, error) {
	row, err := plain(row)
	if err != nil {
		return caslease.Cell{}, err
	}
	return rows.Cell(row)
}

// plain returns a row with its bytes no longer in hexadecimal.
func plain(row [][]byte) ([][]byte, error) {
	for _, i := range []int{2, 4} {
		if row[i] == nil {
			continue
		}
		b, err := hex.AppendDecode([]byte{}, row[i])
		if err != nil {
			return nil, fmt.Errorf("invalid answer of the server: %w", err)
		}
		row[i] = b
	}
	return row, nil
}
