package plan_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
)

// S2: who adds a rule must know which clocks run on meanwhile, and what else ends a live request.
func TestContributingListsEachClockAndEachEndOfARequest(t *testing.T) {
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "### add a rule")
	section, _, _ = strings.Cut(section, "### add an action")

	noClocks := []string{"max_run_duration", "job_duration_margin", "lease_end_warning", "interval", "pending_grace"}
	for _, of := range []reflect.Type{reflect.TypeFor[config.Flex](), reflect.TypeFor[config.Options]()} {
		for _, f := range reflect.VisibleFields(of) {
			key := f.Tag.Get("key")
			if f.Type == reflect.TypeFor[time.Duration]() && !slices.Contains(noClocks, key) {
				assert.Contains(t, section, "`"+key+"`")
			}
		}
	}

	ends := regexp.MustCompile(`action\.CancelRequest\{.*Request:|\bw\.Withdraw\(|\bw\.misfit\(`)
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "draft.go" { // draft.go carries out what demand and rules decide
			return err
		}
		text, err := os.ReadFile(path)
		if ends.Match(text) {
			assert.Contains(t, section, "(flex"+strings.TrimPrefix(path, "..")+")")
		}
		return err
	}))
}
