package mig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBriefTroubleDoesNotDependOnGooglesWording(t *testing.T) {
	for text, trouble := range map[string]Trouble{
		"no capacity": {Cause: CauseCapacity, Message: "ZONE_RESOURCE_POOL_EXHAUSTED: try another zone"},
		"rate limit":  {Cause: CauseRate, Message: "429: slow down"},
		"Google rejected slurmflex's credentials":        {Cause: CauseCredentials, Message: "401 authError: Request had invalid authentication credentials."},
		"Compute is unavailable":                         {Cause: CauseUnavailable, Message: "read tcp 10.0.0.2:43512->10.0.0.1:443: connection reset by peer"},
		"a quota of the project is used up":              {Cause: CauseQuota, Message: "IP_SPACE_EXHAUSTED: none"},
		"quota GPUS is used up":                          {Cause: CauseQuota, Quota: UsedUp{Metric: "GPUS"}},
		"quota GPUS is used up (limit 8)":                {Cause: CauseQuota, Quota: UsedUp{Metric: "GPUS", Limit: 8}},
		"quota GPUS is used up (limit 8 in us-central1)": {Cause: CauseQuota, Quota: UsedUp{Metric: "GPUS", Limit: 8, Region: "us-central1"}},
		"403 forbidden: no right":                        {Cause: CausePermission, Message: "403 forbidden: no right."},
		strings.Repeat("a", 119) + "…":                   {Cause: CauseConfig, Message: strings.Repeat("a", 330)},
		"":                                               {},
	} {
		assert.Equal(t, text, trouble.Brief())
	}
}
