package diag

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSecretsAreRemovedFromTexts(t *testing.T) {
	for text, want := range map[string]string{
		"AccountingStoragePass   = hunter2\nAccountingStoragePort = 6819":            "AccountingStoragePass   = REMOVED\nAccountingStoragePort = 6819",
		"JobCompPass             = (null)":                                           "JobCompPass             = (null)",
		"AuthAltParameters = jwt_key=/etc/slurm/jwt.key,x=1":                         "AuthAltParameters = jwt_key=REMOVED,x=1",
		`{"password":"a\"b","user":"u"}`:                                             `{"password":"REMOVED","user":"u"}`,
		`{"access_token": "abc", "n": 1}`:                                            `{"access_token": "REMOVED", "n": 1}`,
		"GET /x?token=abc&y=1":                                                       "GET /x?token=REMOVED&y=1",
		"Authorization: Bearer abcdefgh12345":                                        "Authorization: Bearer REMOVED",
		"export DB_PASSWORD='a b' && run":                                            "export DB_PASSWORD=REMOVED && run",
		"got ya29.a0Af_-x from Google":                                               "got REMOVED from Google",
		"jwt eyJhbGciOi.eyJzdWIi.sig-x":                                              "jwt REMOVED",
		"https://me:pw@proxy:3128/x":                                                 "https://REMOVED@proxy:3128/x",
		"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nafter": "REMOVED\nafter",
		"-----BEGIN PRIVATE KEY-----\ncut off":                                       "REMOVED",
		"POST https://hooks.slack.com/services/T0/B0/xyz":                            "POST https://hooks.slack.com/REMOVED",
		"key AIzaSyA1234567890abcdefghijklmnopqrstu, hf_abcdefghijklmnop1234":        "key REMOVED, REMOVED",
		"AKIAIOSFODNN7EXAMPLE ghp_abcdefghijklmnop1234 sk-abcdefghijklmnop1234":      "REMOVED REMOVED REMOVED",
		"curl -u admin:hunter2 --password hunter2 --api-token 'a b' --verbose":       "curl -u admin:REMOVED --password REMOVED --api-token REMOVED --verbose",
		"pwd=hunter2 x?a=1&sig=abc&b=2":                                              "pwd=REMOVED x?a=1&sig=REMOVED&b=2",
		"token: hunter2hunter2":                                                      "token: REMOVED",
		"projects/demo passes=3 node=alpha-a3-0":                                     "projects/demo passes=3 node=alpha-a3-0",
		"http://127.0.0.1:8918/status.json":                                          "http://127.0.0.1:8918/status.json",
	} {
		assert.Equal(t, want, string(scrub([]byte(text))))
	}
}

func TestSecretsAreRemovedFromTheConfiguration(t *testing.T) {
	text, err := scrubYAML([]byte(`# the password is hunter2
slurm_cluster_name: alpha # token x
cloudsql: {server_ip: 10.0.0.1, user: slurm, password: hunter2}
munge_key: [several, lines]
db_password: |
  hunter2
  hunter3
nodeset:
  a3:
    node_count_dynamic_max: 8
    metadata: {api-token: x}
slurmflex:
  credentials_file: /etc/slurmflex/key.json
  api_calls_per_second: 20
`))
	require.NoError(t, err)
	assert.Equal(t, `slurm_cluster_name: alpha
cloudsql: {server_ip: 10.0.0.1, user: slurm, password: REMOVED}
munge_key: REMOVED
db_password: REMOVED
nodeset:
  a3:
    node_count_dynamic_max: 8
    metadata: {api-token: REMOVED}
slurmflex:
  credentials_file: /etc/slurmflex/key.json
  api_calls_per_second: 20
`, string(text))
	for _, broken := range []string{"a: b: hunter2", "", "\t- hunter2"} {
		text, err = scrubYAML([]byte(broken))
		assert.Empty(t, text)
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}
