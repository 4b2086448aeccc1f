package cmd

// afford does nothing, because there are no such limits.
func afford(string) error { return nil }
