package setup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"slurmflex/config/regular"
)

// maxConf limits the size of a file in bytes, and maxFiles the number of included files.
const (
	maxConf  = 16 << 20
	maxFiles = 64
)

// confFile is a slurm.conf with the files that it includes.
type confFile struct {
	Path    string
	entries []entry
	files   int
}

// entry is a line Key=Value. In a line such as PartitionName=train Nodes=…, everything after the
// first = is the value. A key may occur more than once.
type entry struct {
	file       string
	line       int
	key, value string
}

// name returns the name in a line such as PartitionName=train Nodes=….
func (e entry) name() string {
	for word := range strings.FieldsSeq(e.value) {
		return word
	}
	return ""
}

// readConfFile reads a slurm.conf and the files that it includes. An unreadable file is an error, even an
// included one, because an incomplete configuration is misleading.
func readConfFile(path string) (*confFile, error) {
	f := &confFile{Path: path}
	if err := f.read(path); err != nil {
		return nil, fmt.Errorf("read slurm.conf: %w", err)
	}
	return f, nil
}

func (f *confFile) read(path string) error {
	if f.files++; f.files > maxFiles {
		return fmt.Errorf("%s: more than %d files include each other", path, maxFiles)
	}
	data, err := regular.Read(path, maxConf)
	if err != nil {
		return err
	}
	return f.parse(path, string(data))
}

// parse reads the settings of a file. In slurm.conf, a backslash continues a line, # starts a
// comment unless a backslash precedes it, and the path of an included file is relative to
// slurm.conf.
func (f *confFile) parse(path, text string) error {
	whole, begun := "", 0
	for number, line := range strings.Split(text, "\n") {
		if whole == "" {
			begun = number + 1
		}
		line = withoutComment(strings.TrimRight(line, "\r"))
		part, goesOn := strings.CutSuffix(line, `\`)
		whole += part
		if goesOn {
			whole += " "
			continue
		}
		if err := f.add(path, begun, strings.TrimSpace(whole)); err != nil {
			return err
		}
		whole = ""
	}
	return f.add(path, begun, strings.TrimSpace(whole))
}

func (f *confFile) add(path string, number int, line string) error {
	if words := strings.Fields(line); len(words) == 2 && strings.EqualFold(words[0], "include") {
		return f.include(words[1])
	}
	key, value, ok := strings.Cut(line, "=")
	if ok {
		f.entries = append(f.entries, entry{path, number, strings.TrimSpace(key), strings.TrimSpace(value)})
	}
	return nil
}

// include reads a file. In its path, %c is the name of the cluster in lower case, if a line above
// sets it. Source: slurm.conf(5), INCLUDE MODIFIERS, and its parse_config.c.
func (f *confFile) include(path string) error {
	if _, cluster, ok := f.setting("ClusterName"); ok {
		path = strings.ReplaceAll(path, "%c", strings.ToLower(cluster))
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(f.Path), path)
	}
	return f.read(path)
}

func withoutComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] != '\\') {
			return line[:i]
		}
	}
	return line
}

// setting returns the place and the value of a setting. The last occurrence counts. Source:
// slurmctld's "latest value used".
func (f *confFile) setting(key string) (at place, value string, ok bool) {
	for i := len(f.entries) - 1; i >= 0; i-- {
		if e := f.entries[i]; strings.EqualFold(e.key, key) {
			return place{e.file, e.line}, e.value, true
		}
	}
	return place{File: f.Path}, "", false
}

// record returns the place and the parameters of the line that starts with KEY=NAME, such as the
// line of a partition or of nodes. Behind the line's own parameters are those of the lines
// KEY=DEFAULT above it, the last one first; of each parameter, the first one counts.
func (f *confFile) record(key, name string) (at place, parameters []parameter, ok bool) {
	for _, e := range slices.Backward(f.entries) {
		if !strings.EqualFold(e.key, key) {
			continue
		}
		switch first := e.name(); {
		case !ok && first == name:
			at, parameters, ok = place{e.file, e.line}, parametersOf(e.value), true
		case ok && strings.EqualFold(first, "DEFAULT"):
			parameters = append(parameters, parametersOf(e.value)...)
		}
	}
	if !ok {
		return place{File: f.Path}, nil, false
	}
	return at, parameters, true
}

// anyHas reports whether any line that starts with KEY= has the parameter.
func (f *confFile) anyHas(key, parameter string) bool {
	for _, e := range f.entries {
		if !strings.EqualFold(e.key, key) {
			continue
		}
		for _, p := range parametersOf(e.value) {
			if strings.EqualFold(p.Key, parameter) {
				return true
			}
		}
	}
	return false
}

// place is a line of a file.
type place struct {
	File string
	Line int // from 1; 0 if the line does not exist yet
}

// parameter is one Key=Value of a line with several.
type parameter struct{ Key, Value string }

func (p parameter) text() string { return p.Key + "=" + p.Value }

func parametersOf(text string) []parameter {
	var all []parameter
	for _, word := range strings.Fields(text) {
		if key, value, ok := strings.Cut(word, "="); ok {
			all = append(all, parameter{key, value})
		}
	}
	return all
}
