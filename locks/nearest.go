package locks

// Nearest returns the known word of which word is most likely a misspelling, or "" if
// none is near. A word is near within two edits (one, for a word of up to four bytes).
// Swapping two neighbours is one edit.
func Nearest(word string, known []string) string {
	limit := 2
	if len(word) <= 4 {
		limit = 1
	}
	best := ""
	for _, k := range known {
		if d := edits(word, k); d <= limit {
			best, limit = k, d-1
		}
	}
	return best
}

// edits returns the optimal string alignment distance, in bytes.
func edits(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
