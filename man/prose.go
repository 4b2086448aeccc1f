package man

import (
	"regexp"
	"strings"
)

// width is that of the lines of a page's source.
const width = 76

// prose is what an option is for, as sentences.
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
	manualWord   = regexp.MustCompile(`^([a-z]+)\(([1-8])\)$`)
	// A word has what it means, and what is around that.
	parts = regexp.MustCompile(`^(\(?)([a-z]+\([1-8]\)|.*?)([),;:.]*)$`)
)

// words writes a text as lines of mdoc, with macros for what has one.
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

// macro is what stands for a word; "" if it is text.
func macro(word, value string) string {
	switch {
	case word == "":
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
	return ""
}

// macroLine puts a macro between its punctuation.
func macroLine(before, macro, after string) string {
	if name, rest, _ := strings.Cut(macro, " "); before != "" {
		macro = name + " " + before + " " + rest // it knows that a parenthesis is none of its own
	}
	for _, p := range after {
		macro += " " + string(p)
	}
	return macro
}

// escape keeps text from being taken for markup.
func escape(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "~", `\(ti`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
