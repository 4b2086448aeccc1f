package man

import (
	"regexp"
	"strings"
)

// width is the width of the lines of a page's source.
const width = 76

// prose returns the purpose of an option, as sentences.
func prose(usage, value, def string) string {
	if before, rest, found := strings.Cut(usage, " (default: "); found {
		var after string
		def, after, _ = strings.Cut(rest, ")")
		usage = before + after
	}
	if first, _, _ := strings.Cut(usage, " "); first != value {
		usage = strings.ToUpper(usage[:1]) + usage[1:]
	}
	text := words(usage+".", value)
	if def != "" {
		text += words("The default is "+def+".", value)
	}
	return text
}

var (
	optionWord   = regexp.MustCompile(`^(--[a-z][a-z-]+|-[A-Za-z])$`)
	variableWord = regexp.MustCompile(`^(\$[A-Z]+|LEADERRUN_[A-Z_]+)$`)
	manualWord   = regexp.MustCompile(`^([a-z-]+)\(([1-8])\)$`)
	// A word may stand between punctuation.
	parts = regexp.MustCompile(`^(\(?)([a-z-]+\([1-8]\)|.*?)([),;:.]*)$`)
)

// words returns a text as lines of mdoc, with macros for options, variables and the like.
func words(text, value string) string {
	var b strings.Builder
	line := ""
	flush := func() {
		if line != "" {
			b.WriteString(escape(line) + "\n")
		}
		line = ""
	}
	for _, word := range strings.Fields(text) {
		m := parts.FindStringSubmatch(word)
		if macro := macro(m[2], value); macro != "" {
			flush()
			b.WriteString("." + macroLine(m[1], macro, m[3]) + "\n")
			continue
		}
		if len(line)+1+len(word) > width {
			flush()
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	flush()
	return b.String()
}

// macro returns the macro for a word, or "" if the word is text.
func macro(word, value string) string {
	switch {
	case word == "":
	case word == "FreeBSD": // mandoc(1) wants it
		return "Fx"
	case word == value, word == "COMMAND":
		return "Ar " + strings.ToLower(word)
	case optionWord.MatchString(word):
		return "Fl " + strings.TrimPrefix(word, "-")
	case variableWord.MatchString(word):
		return "Ev " + strings.TrimPrefix(word, "$")
	case manualWord.MatchString(word):
		m := manualWord.FindStringSubmatch(word)
		return "Xr " + m[1] + " " + m[2]
	}
	return marked(word)
}

// macroLine returns the line of a macro between punctuation.
func macroLine(before, macro, after string) string {
	if name, rest, _ := strings.Cut(macro, " "); before != "" {
		macro = name + " " + before + " " + rest // mdoc takes a parenthesis for punctuation
	}
	for _, p := range after {
		macro += " " + string(p)
	}
	return macro
}

// escape returns text that mdoc does not take for markup.
func escape(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "~", `\(ti`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
