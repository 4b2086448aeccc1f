package proc

// checkScript does nothing: the system does not read a script's first line.
func checkScript(string) error { return nil }
