package mig

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestANameOfSlurmGCPSaysForWhomTheGroupIs(t *testing.T) {
	tests := map[string]struct {
		nodeset string
		job     uint32
		ok      bool
	}{
		"alpha-a3-0123abcd":                     {"a3", 0, true},
		"alpha-a3-job-812-0123abcd":             {"a3", 812, true},
		"alpha-b-a3-0123abcd":                   {"b-a3", 0, true},
		"alpha-job-5-0123abcd":                  {"job-5", 0, true},
		"alpha-a3-job-x-0123abcd":               {"a3-job-x", 0, true},
		"alpha-a3-job-4294967296-0123abcd":      {"", 0, false},
		"alpha-a3-job-812":                      {"", 0, false},
		"alpha-a3-node-7":                       {"", 0, false},
		"alpha-a3-0123abc":                      {"", 0, false},
		"alpha-a3-0123abcg":                     {"", 0, false},
		"alpha-a3-0123ABCD":                     {"", 0, false},
		"alpha-0123abcd":                        {"", 0, false},
		"alphabet-a3-0123abcd":                  {"", 0, false},
		"beta-a3-0123abcd":                      {"", 0, false},
		"alpha":                                 {"", 0, false},
		"":                                      {"", 0, false},
		"alpha-a3-job-812-0123abcd-deadbeef\nx": {"", 0, false},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			nodeset, job, ok := ParseForeign("alpha", name)
			assert.Equal(t, want.ok, ok)
			assert.Equal(t, want.nodeset, nodeset)
			assert.Equal(t, want.job, job)
		})
	}
}
