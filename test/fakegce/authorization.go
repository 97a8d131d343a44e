package fakegce

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/url"
	"strings"
)

// AnyToken is a value of Options.Token: every call must carry a token, but any token will do.
const AnyToken = "any"

// tokenPath is the path where a service account exchanges its key for a token, as at
// https://oauth2.googleapis.com/token, and where workload identity federation exchanges a token of
// another issuer, as at https://sts.googleapis.com/v1/token.
const (
	tokenPath  = "/token"
	tokenTime  = 3600 // token lifetime in seconds, as at Google
	givenToken = "ya29.of-the-fake"

	jwtBearer     = "urn:ietf:params:oauth:grant-type:jwt-bearer"     // RFC 7523
	tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange" // RFC 8693
	accessToken   = "urn:ietf:params:oauth:token-type:access_token"
)

// ServiceAccountKey creates a key file of a service account for the fake at an address such as
// http://127.0.0.1:8900. The fake knows no accounts: it accepts any key.
func ServiceAccountKey(project, address string) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(map[string]string{
		"type": "service_account", "project_id": project, "private_key_id": rand.Text(),
		"private_key":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"client_email": "slurmflex@" + project + ".iam.gserviceaccount.com", "token_uri": address + tokenPath,
	}, "", "  ")
}

// giveToken answers a service account, or workload identity federation, that asks for a token.
func (s *Server) giveToken(r *http.Request, body []byte) reply {
	form, err := url.ParseQuery(string(body))
	if err != nil || r.Method != http.MethodPost || !mayHaveToken(form) {
		answer := encode(map[string]string{"error": "invalid_grant", "error_description": "Invalid JWT."})
		answer.status = http.StatusBadRequest
		return answer
	}
	token := s.opts.Token
	if token == AnyToken {
		token = ""
	}
	return encode(map[string]any{"access_token": cmp.Or(token, givenToken), "token_type": "Bearer", "issued_token_type": accessToken, "expires_in": tokenTime})
}

// mayHaveToken reports whether a request for a token is complete.
func mayHaveToken(form url.Values) bool {
	switch form.Get("grant_type") {
	case jwtBearer:
		return strings.Count(form.Get("assertion"), ".") == 2
	case tokenExchange:
		return form.Get("audience") != "" && form.Get("subject_token") != "" && form.Get("requested_token_type") == accessToken
	}
	return false
}

// authorize refuses a call that lacks the token required by the options.
func (s *Server) authorize(r *http.Request) error {
	token, carried := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case s.opts.Token == "", carried && (token == s.opts.Token || s.opts.Token == AnyToken):
		return nil
	case r.Header.Get("Authorization") == "":
		return &refusal{
			Status: http.StatusUnauthorized, Reason: "required", Location: "Authorization", LocationType: "header",
			Message: "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
		}
	}
	return &refusal{
		Status: http.StatusUnauthorized, Reason: "authError", Location: "Authorization", LocationType: "header",
		Message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
	}
}
