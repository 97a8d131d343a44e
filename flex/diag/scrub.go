package diag

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// removed replaces a secret.
const removed = "REMOVED"

// secretName matches the names of keys that have secret values.
const secretName = `[\w.-]*(?i:passw|pass\b|pwd|secret|token|api_?key|private_?key|credential|munge_?key|jwt|signature|\bsig\b)[\w.-]*`

// replacement is a pattern of secrets, and the text that replaces each.
type replacement struct {
	pattern *regexp.Regexp
	instead string
}

var (
	secretKey = regexp.MustCompile(`^` + secretName + `$`)

	// shapes match secrets that are recognizable without a name. Each pattern starts with a
	// literal, which makes the search fast.
	shapes = []replacement{
		{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`), removed},
		{regexp.MustCompile(`ya29\.[\w.-]+`), removed},              // Google's access tokens
		{regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]*`), removed},  // JSON web tokens
		{regexp.MustCompile(`AIza[\w-]{30,}`), removed},             // Google's API keys
		{regexp.MustCompile(`AKIA[A-Z0-9]{12,}`), removed},          // AWS
		{regexp.MustCompile(`hf_[A-Za-z0-9]{16,}`), removed},        // Hugging Face
		{regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{16,}`), removed}, // GitHub
		{regexp.MustCompile(`sk-[\w-]{16,}`), removed},              // OpenAI and others
		{regexp.MustCompile(`hooks\.slack\.com/\S+`), "hooks.slack.com/" + removed},
		{regexp.MustCompile(`://[^/\s:@"']*:[^/\s@"']+@`), "://" + removed + "@"},
	}

	// words are lower-case. Each line with a named secret contains at least one of them.
	words = [][]byte{
		[]byte("pass"), []byte("pwd"), []byte("secret"), []byte("token"), []byte("key"), []byte("credential"), []byte("jwt"), []byte("sig"), []byte("bearer"), []byte("basic"),
		[]byte("user"), []byte("-u "),
	}

	// named match secrets that follow their names in a line.
	named = []replacement{
		{regexp.MustCompile(`(?i)\b(bearer|basic) [\w.~+/=-]{8,}`), "$1 " + removed},                                  // HTTP
		{regexp.MustCompile(`("` + secretName + `"\s*:\s*)"(?:[^"\\]|\\.)*"`), `${1}"` + removed + `"`},               // JSON
		{regexp.MustCompile(`((?:^|\s)(?:-u|--user)[ =][^\s:]+:)\S+`), "${1}" + removed},                              // curl
		{regexp.MustCompile(`((?:^|\s)--` + secretName + ` +)("[^"]*"|'[^']*'|[^\s-]\S*)`), "${1}" + removed},         // flags
		{regexp.MustCompile(`(\b` + secretName + `: ?)([^\s"',;{}]{8,})`), "${1}" + removed},                          // YAML, logs
		{regexp.MustCompile(`(` + secretName + `\s*=\s*)("[^"]*"|'[^']*'|[^\s&,;"'(][^\s&,;"']*)`), "${1}" + removed}, // commands, queries, Slurm
	}
)

// scrub replaces the secrets in a text.
func scrub(text []byte) []byte {
	text = replace(text, shapes)
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		lower := bytes.ToLower(line)
		if slices.ContainsFunc(words, func(word []byte) bool { return bytes.Contains(lower, word) }) {
			line = replace(line, named)
		}
		b.Write(line)
	}
	return b.Bytes()
}

func replace(text []byte, all []replacement) []byte {
	for _, r := range all {
		text = r.pattern.ReplaceAll(text, []byte(r.instead))
	}
	return text
}

// scrubYAML replaces the values of secret keys and drops comments. Invalid YAML may have secrets
// anywhere, so scrubYAML returns nothing of it.
func scrubYAML(text []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("invalid YAML may hide secrets: %w", err)
	}
	if document.Kind == 0 {
		return nil, errors.New("the file is empty")
	}
	scrubNode(&document)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&document); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func scrubNode(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && isSecret(n.Content[i-1].Value) {
			*child = yaml.Node{Kind: yaml.ScalarNode, Value: removed}
		}
		scrubNode(child)
	}
}

// isSecret reports whether a key's value is a secret, and not only the path of a file.
func isSecret(key string) bool {
	return secretKey.MatchString(key) && !strings.HasSuffix(key, "_file") && !strings.HasSuffix(key, "_path")
}
