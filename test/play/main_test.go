package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

// U9: a new user types these lines.
func TestFakeTakesEachFault(t *testing.T) {
	assert.GreaterOrEqual(t, len(faults), 12)
	form := regexp.MustCompile(`^(\S+) (?:-d '(.+)'|-X (POST|DELETE))$`)
	for _, f := range faults {
		m := form.FindStringSubmatch(f.line)
		require.NotNil(t, m, f.line)
		method := http.MethodPost
		if m[3] != "" {
			method = m[3]
		}
		answer := httptest.NewRecorder()
		fakegce.New(fakegce.Options{}).ServeHTTP(answer, httptest.NewRequest(method, "/fake/"+m[1], strings.NewReader(m[2])))
		if strings.HasPrefix(m[1], "vms/") { // the machine is missing, but the command is valid
			assert.Contains(t, answer.Body.String(), "alpha-a3-0", f.line)
			continue
		}
		assert.Equal(t, http.StatusOK, answer.Code, "%s: %s", f.line, answer.Body)
	}
}
