package mig

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestARequestNamesItsInstancesAndNoneWhoseNameBeginsAlike(t *testing.T) {
	r := Request{Instances: []string{"alpha-a3-1", "alpha-a3-20"}}
	for name, want := range map[string]bool{
		"alpha-a3-1": true, "alpha-a3-20": true, "alpha-a3-10": false, "alpha-a3-2": false, "": false,
	} {
		assert.Equal(t, want, r.Names(name), name)
	}
}

func TestARequestLivesUntilItIsKnownToHaveEnded(t *testing.T) {
	for state, want := range map[RequestState]bool{
		Creating: true, Accepted: true, "PROVISIONING": true, "": true, Succeeded: false, Failed: false, Cancelled: false,
	} {
		assert.Equal(t, want, state.Live(), state)
	}
}
