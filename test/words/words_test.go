// Package words checks the wording of the project: docs, comments, string literals and test
// names.
package words

import (
	_ "embed"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

//go:embed words.txt
var list string

// word is a word or phrase that the project no longer uses.
type word struct {
	pattern, unless *regexp.Regexp // unless is nil without exceptions
	better          string
}

func words(t *testing.T) (words []word) {
	t.Helper()
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, " => ")
		require.GreaterOrEqual(t, len(fields), 2, line)
		w := word{pattern: whole(fields[0]), better: fields[1]}
		if len(fields) > 2 {
			w.unless = whole(strings.TrimPrefix(fields[2], "unless "))
		}
		words = append(words, w)
	}
	return words
}

func whole(pattern string) *regexp.Regexp {
	if !strings.HasPrefix(pattern, ",") {
		pattern = `\b(` + pattern + `)\b`
	}
	return regexp.MustCompile(`(?i)` + pattern)
}

// in returns the first match in a text, or "".
func (w word) in(text string) string {
	if w.unless != nil {
		text = w.unless.ReplaceAllString(text, "")
	}
	return w.pattern.FindString(text)
}

// passage is a piece of text for people.
type passage struct {
	line int
	text string
}

func TestTextsUseOnlyOurWords(t *testing.T) {
	words := words(t)
	root := os.DirFS("../..")
	require.NoError(t, fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata" || entry.Name() == "build"):
			return fs.SkipDir
		case !entry.Type().IsRegular() || strings.HasPrefix(path, "test/words/"): // the list itself contains the words
			return nil
		}
		content, err := fs.ReadFile(root, path)
		if err != nil || !utf8.Valid(content) {
			return err
		}
		for _, p := range passages(path, content) {
			for _, w := range words {
				if found := w.in(p.text); found != "" {
					t.Errorf("%s:%d: %q: write %s", path, p.line, found, w.better)
				}
			}
		}
		return nil
	}))
}

func TestWordIsFound(t *testing.T) {
	source := "package p\n// A round.\nfunc TestARoundEnds() { _ = `so\nelse` }\n"
	var found []string
	for _, p := range passages("p_test.go", []byte(source)) {
		for _, w := range words(t) {
			if f := w.in(p.text); f != "" {
				found = append(found, f)
			}
		}
	}
	require.Equal(t, []string{"round", "Round", "else"}, found)
	require.Empty(t, word{pattern: whole("else"), unless: whole("nothing else")}.in("nothing else"))
}

// passages returns the lines of a file that people read as text. In Go files, these are
// comments, string literals and test names.
func passages(path string, content []byte) (found []passage) {
	if filepath.Ext(path) != ".go" {
		return split(1, string(content))
	}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile(path, -1, len(content))
	s.Init(file, content, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return found
		case tok == token.COMMENT || tok == token.STRING:
			found = append(found, split(file.Line(pos), lit)...)
		case tok == token.IDENT && strings.HasPrefix(lit, "Test"):
			found = append(found, passage{file.Line(pos), spaced(lit)})
		}
	}
}

// code matches the keyword else in code: page templates, JavaScript, Python and shell scripts.
var code = regexp.MustCompile(`\{\{else\b[^}]*\}\}|^\s*(\} )?else( \{|:)?\s*$|; else `)

func split(first int, text string) (found []passage) {
	for line := range strings.Lines(text) {
		found = append(found, passage{first, code.ReplaceAllString(line, "")})
		first++
	}
	return found
}

// spaced puts a space before each capital letter.
func spaced(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}
