package trial

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"slurmflex/mig"
)

// removed replaces free text.
const removed = "REMOVED"

// closed lists fields below which every text is removed, except the API's own words.
var closed = []string{
	"advancedMachineFeatures", "customerEncryptionKey", "disks", "fingerprint", "hostname", "labels", "metadata", "networkInterfaces",
	"params", "partnerMetadata", "resourceManagerTags", "resourcePolicies", "serviceAccounts", "tags", "user",
}

// told lists the metadata keys that keep their values, because Compute writes those values.
var told = []string{"created-by", "google-compute-mig-resize-request"}

var (
	apiWord      = regexp.MustCompile(`^([A-Z][A-Z0-9_]*|compute#\w+)$`)
	projectPart  = regexp.MustCompile(`projects/[^/\s"'?]+`)
	projectWords = regexp.MustCompile(`(?i)(project[ _]?(?:number|id)?[ :='"]{1,3})[0-9]{6,}`)
	account      = regexp.MustCompile(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`)
	addressV4    = regexp.MustCompile(`\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b`)
	addressV6    = regexp.MustCompile(`[0-9A-Fa-f:]*::[0-9A-Fa-f:.]*|\b(?:[0-9A-Fa-f]{1,4}:){4,7}[0-9A-Fa-f]{1,4}\b`)
)

// scrubber removes confidential data from texts and JSON.
type scrubber struct {
	project string
	alone   *regexp.Regexp // the project's name, unless it is part of another name
}

func newScrubber(project string) scrubber {
	return scrubber{project, regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(project) + `($|[^\w-])`)}
}

// shortestProject is the shortest length of a Compute project name.
const shortestProject = 6

// text returns t without projects, accounts and addresses. Inside another name, the project's name
// becomes "project", so that the result is still a valid name.
func (s scrubber) text(t string) string {
	t = projectPart.ReplaceAllString(t, "projects/"+projectWord)
	for range 2 { // the first pass finds only one of two names that share a separator
		t = s.alone.ReplaceAllString(t, "${1}"+projectWord+"${2}")
	}
	if len(s.project) >= shortestProject {
		t = strings.ReplaceAll(t, s.project, strings.ToLower(projectWord))
	}
	t = projectWords.ReplaceAllString(t, "${1}"+projectWord)
	t = account.ReplaceAllString(t, "ACCOUNT")
	t = addressV4.ReplaceAllString(t, "ADDRESS")
	return addressV6.ReplaceAllString(t, "ADDRESS")
}

// json returns a body without confidential data. Of a body that is not JSON, which neither
// slurmflex nor Google sends, it keeps only the length.
func (s scrubber) json(body []byte) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // ids have more digits than a float64
	var v any
	if err := d.Decode(&v); err != nil {
		v = "not JSON: " + strings.Repeat(".", min(len(body), 80))
	}
	b, err := json.Marshal(s.value("", v, false))
	if err != nil { // cannot happen: decoded JSON always encodes
		panic(err)
	}
	return b
}

// value cleans the value of a field. With all, only the API's own words remain.
func (s scrubber) value(field string, v any, all bool) any {
	all = all || slices.Contains(closed, field)
	switch v := v.(type) {
	case map[string]any:
		key, _ := v["key"].(string)
		clean := make(map[string]any, len(v))
		for name, value := range v {
			item := key != "" && (name == "key" || name == "value" && slices.Contains(told, key))
			clean[s.text(name)] = s.value(name, value, all && !item)
		}
		return clean
	case []any:
		clean := make([]any, len(v))
		for i, value := range v {
			clean[i] = s.value("", value, all)
		}
		return clean
	case string:
		if field == "description" && !isStamp(v) || all && !apiWord.MatchString(v) {
			return removed
		}
		return s.text(v)
	}
	return v
}

// isStamp reports whether a description is an ownership stamp of slurmflex.
func isStamp(description string) bool {
	_, ours := mig.ParseStamp(description)
	return ours
}
