package man

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	mdLink = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
	mdBold = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	mdCode = regexp.MustCompile("`([^`]+)`")
	mdWord = regexp.MustCompile("^([`*])([^`*]+)[`*]$")
)

// space is what stands for a space inside of code while a text is split into words.
const space = "\x00"

// section returns the part of a Markdown page below a heading, as mdoc. It knows paragraphs and
// lists, and stops before the first block or table.
func section(page, heading string) (string, error) {
	_, text, found := strings.Cut(page, "# "+heading+"\n\n")
	if !found {
		return "", fmt.Errorf("there is no heading %q", heading)
	}
	text = regexp.MustCompile("(?m)^(#|```|<!--|\\|)").Split(text, 2)[0]
	var b strings.Builder
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if items, isList := strings.CutPrefix(paragraph, "- "); isList {
			b.WriteString(".Bl -bullet\n")
			for _, item := range strings.Split(items, "\n- ") {
				b.WriteString(".It\n" + sentences(item))
			}
			b.WriteString(".El\n")
			continue
		}
		if i > 0 {
			b.WriteString(".Pp\n")
		}
		b.WriteString(sentences(paragraph))
	}
	return b.String(), nil
}

// sentences returns a paragraph as lines of mdoc, each sentence on a new one.
func sentences(markdown string) string {
	text := strings.Join(strings.Fields(markdown), " ")
	text = mdLink.ReplaceAllString(text, "$1")
	text = mdBold.ReplaceAllString(text, "$1")
	text = mdCode.ReplaceAllStringFunc(text, func(code string) string {
		return strings.ReplaceAll(code, " ", space)
	})
	var b strings.Builder
	for _, sentence := range regexp.MustCompile(`(?:[^.]|\.[^ ])+(?:\. |\.$|$)`).FindAllString(text, -1) {
		b.WriteString(words(sentence, ""))
	}
	return b.String()
}

// marked returns the macro for a word that Markdown marks, or "".
func marked(word string) string {
	m := mdWord.FindStringSubmatch(word)
	switch {
	case m == nil:
		return ""
	case m[1] == "*":
		return "Em " + m[2]
	}
	if known := macro(m[2], ""); known != "" {
		return known
	}
	code := strings.ReplaceAll(m[2], `"`, `\(dq`)
	if name, value, _ := strings.Cut(code, space); optionWord.MatchString(name) {
		return "Fl " + name[1:] + " Cm " + strings.ReplaceAll(value, space, " ")
	}
	return "Cm " + strings.ReplaceAll(code, space, " ")
}
