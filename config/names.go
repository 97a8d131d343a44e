package config

import (
	"fmt"
	"regexp"
)

const (
	// maxName is the longest name of a Compute resource. Source: Compute's naming convention, RFC
	// 1035 labels.
	maxName = 63
	// longestJob is the longest suffix of a nodeset's name in a group name: the job's number, which
	// Slurm stores in 32 bits, the part and the attempt.
	longestJob = "-job-4294967295-p99-r99"
	// maxCluster is the longest name of a cluster: it leaves room for a nodeset's name of one letter.
	maxCluster = maxName - len("-n") - len(longestJob)
)

var (
	computeName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	nodeSetName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	zoneName    = regexp.MustCompile(`^([a-z0-9-]+)-[a-z0-9]+$`)
)

// form is a form of texts.
type form struct {
	is     *regexp.Regexp // a group matches the region
	values string         // for people
}

// forms are the forms that a tag can name.
var forms = map[string]form{
	"path":     {regexp.MustCompile(`^/`), "an absolute path"},
	"address":  {regexp.MustCompile(`^[^\s/?#@]*:\d{1,5}$`), "HOST:PORT"},
	"endpoint": {regexp.MustCompile(`^https?://[^\s/?#@:][^\s/?#@]*$`), "http(s)://HOST[:PORT]"},
	"cluster": {
		regexp.MustCompile(fmt.Sprintf(`^[a-z]([-a-z0-9]{0,%d}[a-z0-9])?$`, maxCluster-2)),
		fmt.Sprintf("a letter, then lower-case letters, digits and inner dashes, at most %d characters", maxCluster),
	},
	"project":     {regexp.MustCompile(`^[a-z0-9][-a-z0-9.:]*[a-z0-9]$`), "a project's id, such as my-project-123"},
	"reservation": {regexp.MustCompile(`^(?:projects/[^/]+/reservations/)?[a-z]([-a-z0-9]*[a-z0-9])?$`), "NAME or projects/PROJECT/reservations/NAME"},
	"template": {
		regexp.MustCompile(`^(?:(?:https?://[^/]+/compute/[^/]+/)?projects/[^/]+/)?(?:global|regions/([^/]+))/instanceTemplates/[^/]+$`),
		"projects/PROJECT/global/instanceTemplates/NAME or projects/PROJECT/regions/REGION/instanceTemplates/NAME",
	},
	"subnetwork": {
		regexp.MustCompile(`^(?:(?:https?://[^/]+/compute/[^/]+/)?projects/[^/]+/)?regions/([^/]+)/subnetworks/[^/]+$`),
		"projects/PROJECT/regions/REGION/subnetworks/NAME",
	},
}

// regionIn returns the region in a text of a form; otherwise empty.
func regionIn(of, text string) string {
	if m := forms[of].is.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// formed reads a text of a form.
func (s *section) formed(key, of, unset string) string {
	text := s.text(key, unset)
	if text != unset && !forms[of].is.MatchString(text) {
		s.problem(key, "%s is not valid; must be %s", quote(text), forms[of].values)
	}
	return text
}
