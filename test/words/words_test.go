// Package words checks the wording of the project: docs, comments, string literals and test
// names.
package words

import (
	_ "embed"
	"fmt"
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

var (
	//go:embed words.txt
	unused string
	//go:embed phrases.txt
	translated string
)

// maxPhrases is the maximum number of translated phrases in a thousand words of each kind of text.
// Go's package net/http has 1.7.
const maxPhrases = 2.5

// word is a word or phrase that the project does not use, or rarely uses.
type word struct {
	pattern, unless *regexp.Regexp // unless is nil without exceptions
	better          string
}

func words(t *testing.T, list string) (words []word) {
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

// in returns the matches in a text.
func (w word) in(text string) []string {
	if w.unless != nil {
		text = w.unless.ReplaceAllString(text, "")
	}
	return w.pattern.FindAllString(text, -1)
}

// kind is a kind of text.
type kind string

const (
	doc      kind = "docs"
	comment  kind = "comments"
	literal  kind = "string literals"
	testName kind = "test names"
	other    kind = "other files"
)

// passage is a piece of text for people.
type passage struct {
	kind kind
	line int
	text string
}

// walk visits the project's text files.
func walk(t *testing.T, visit func(path string, passages []passage)) {
	t.Helper()
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
		visit(path, passages(path, content))
		return nil
	}))
}

func TestTextsUseOnlyOurWords(t *testing.T) {
	words := words(t, unused)
	walk(t, func(path string, passages []passage) {
		for _, p := range passages {
			for _, w := range words {
				if found := w.in(p.text); found != nil {
					t.Errorf("%s:%d: %q: write %s", path, p.line, found[0], w.better)
				}
			}
		}
	})
}

func TestTextsHaveFewTranslatedPhrases(t *testing.T) {
	phrases := words(t, translated)
	size, hits := map[string]int{}, map[string][]string{}
	walk(t, func(path string, passages []passage) {
		for _, p := range passages {
			text := string(p.kind)
			switch isTest := strings.HasPrefix(path, "test/") || strings.HasSuffix(path, "_test.go"); {
			case p.kind == other:
				continue
			case p.kind == comment && isTest:
				text = "comments of tests"
			}
			size[text] += len(strings.Fields(p.text))
			for _, w := range phrases {
				for _, found := range w.in(p.text) {
					hits[text] = append(hits[text], fmt.Sprintf("%s:%d: %q: write %s", path, p.line, found, w.better))
				}
			}
		}
	})
	require.Len(t, size, 5)
	for text, words := range size {
		t.Logf("%s: %d phrases in %d words", text, len(hits[text]), words)
		if float64(len(hits[text]))*1000 > maxPhrases*float64(words) {
			t.Errorf("%s have more than %g such phrases in a thousand words:\n%s", text, maxPhrases, strings.Join(hits[text], "\n"))
		}
	}
}

// maxTestName is the maximum length of a test's name.
const maxTestName = 64

func TestNamesOfTestsSayWhatIsTrue(t *testing.T) {
	begins := regexp.MustCompile(`^ ?Test (What|Who|Whose|Of|That) `)
	walk(t, func(path string, passages []passage) {
		for _, p := range passages {
			if name := strings.ReplaceAll(p.text, " ", ""); p.kind == testName && (len(name) > maxTestName || begins.MatchString(p.text)) {
				t.Errorf("%s:%d: %s: start with the subject, then the verb, in at most %d letters", path, p.line, name, maxTestName)
			}
		}
	})
}

func TestWordIsFound(t *testing.T) {
	source := "package p\n// A round.\nfunc TestARoundEnds() { _ = `so\nelse` }\n"
	var found []string
	for _, p := range passages("p_test.go", []byte(source)) {
		for _, w := range words(t, unused) {
			found = append(found, w.in(p.text)...)
		}
	}
	require.Equal(t, []string{"round", "Round", "else"}, found)
	require.Empty(t, word{pattern: whole("else"), unless: whole("nothing else")}.in("nothing else"))
	found = nil
	for _, w := range words(t, translated) {
		found = append(found, w.in("Nobody knows whose it is; it is no longer used, and there are none.")...)
	}
	require.Equal(t, []string{"are none", "whose", "Nobody"}, found)
}

// passages returns the lines of a file that people read as text. In Go files, these are
// comments, string literals and test names.
func passages(path string, content []byte) (found []passage) {
	switch {
	case strings.HasSuffix(path, ".md"), strings.HasPrefix(path, "docs/man/"):
		return split(doc, 1, string(content))
	case filepath.Ext(path) != ".go":
		return split(other, 1, string(content))
	}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile(path, -1, len(content))
	s.Init(file, content, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return found
		case tok == token.COMMENT:
			found = append(found, split(comment, file.Line(pos), lit)...)
		case tok == token.STRING:
			found = append(found, split(literal, file.Line(pos), lit)...)
		case tok == token.IDENT && strings.HasPrefix(lit, "Test"):
			found = append(found, passage{testName, file.Line(pos), spaced(lit)})
		}
	}
}

// code matches the keyword else in code: page templates, JavaScript, Python and shell scripts.
var code = regexp.MustCompile(`\{\{else\b[^}]*\}\}|^\s*(\} )?else( \{|:)?\s*$|; else `)

func split(k kind, first int, text string) (found []passage) {
	for line := range strings.Lines(text) {
		found = append(found, passage{k, first, code.ReplaceAllString(line, "")})
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
