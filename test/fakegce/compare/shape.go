package compare

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// removed replaces a redacted value in a transcript.
const removed = "REMOVED"

// place is the position of a value in an answer, without list indexes and zones.
type place string

// shape maps each leaf of an answer to its JSON type. If the leaf is one of the API's enum
// words and not an item of a longer list, the entry also has the word.
type shape map[place]string

var (
	apiWord = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)
	kinds   = []string{"kind", "operationType", "reason", "code"}
	moving  = []string{"state", "status", "instanceStatus", "currentAction", "targetSize"}
	rows    = []string{"items", "managedInstances", "instances"}
)

// shapeOf returns an answer's shape.
func shapeOf(answer any) shape {
	s := shape{}
	s.add("", "", answer, true)
	return s
}

func (s shape) add(at place, field string, v any, alone bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			s.add(at.below(name), name, value, alone)
		}
	case []any:
		for _, value := range v {
			s.add(at+"[]", field, value, alone && len(v) == 1)
		}
	case string:
		s[at] = "string"
		if alone && (slices.Contains(kinds, field) || apiWord.MatchString(v) && !slices.Contains(moving, field) && v != removed) {
			s[at] += " " + v
		}
	case float64:
		s[at] = "number"
		if alone && slices.Contains(kinds, field) {
			s[at] += " " + fmt.Sprint(v)
		}
	default:
		s[at] = fmt.Sprintf("%T", v)
	}
}

// below returns the place of a field.
func (p place) below(name string) place {
	if p == "" {
		return place(name)
	}
	return p + "." + place(name)
}

// differences returns the fields that only one of the two shapes has, and those with different
// types or words.
func (s shape) differences(fake shape) (texts []string) {
	for at, is := range s {
		other, ok := fake[at]
		switch {
		case !ok:
			texts = append(texts, fmt.Sprintf("field %s: only the transcript has it", at))
		case is != other && !(apart(is) == apart(other) && strings.Contains(is, " ") != strings.Contains(other, " ")):
			texts = append(texts, fmt.Sprintf("field %s: the transcript has %s, the fake %s", at, is, other))
		}
	}
	for at := range fake {
		if _, ok := s[at]; !ok {
			texts = append(texts, fmt.Sprintf("field %s: only the fake has it", at))
		}
	}
	slices.Sort(texts)
	return texts
}

// apart returns a leaf's type without its word.
func apart(is string) string { t, _, _ := strings.Cut(is, " "); return t }

// states returns the parts of an answer that change over time, by place. Rows of a list are
// distinguished by name.
func states(answer any) map[string]string {
	all := map[string]string{}
	addStates(all, "", "", answer)
	return all
}

func addStates(all map[string]string, at, field string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			below := string(place(at).below(name))
			switch {
			case slices.Contains(moving, name) && !isObject(value):
				all[below] = fmt.Sprint(value)
			case name == "lastAttempt":
				all[below] = "there"
			case field == "currentActions":
				if n := fmt.Sprint(value); n != "0" {
					all[below] = n
				}
			default:
				addStates(all, below, name, value)
			}
		}
	case []any:
		if !slices.Contains(rows, field) {
			return
		}
		for _, row := range v {
			if name := nameOf(row); name != "" {
				all[at+"["+name+"]"] = "there"
				addStates(all, at+"["+name+"]", "", row)
			}
		}
	}
}

func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

// nameOf returns the name of a row, or "".
func nameOf(row any) string {
	fields, _ := row.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}
