package fakegce

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	refN0 = "zones/us-central1-a/instances/n0"
	pathM = "regions/us-central1/instanceGroupManagers/m"
)

func TestInstanceBeingDeletedIsNotDeletedAgain(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.Advance(time.Minute)
	assert.Equal(t, "RUNNING", w.members("m")["n0"].GetTargetStatus())
	w.begun(w.deleteInstances("m", refN0))
	w.Advance(2 * time.Second)
	assert.Equal(t, "0; r SUCCEEDED; n0 DELETING STOPPING;", w.shows())
	assert.Equal(t, "DELETED", w.members("m")["n0"].GetTargetStatus())
	again := w.begun(w.deleteInstances("m", refN0))
	w.post(pathM+"/deleteInstances", `{"instances":["`+refN0+`"],"skipInstancesOnValidationError":true}`)
	w.Advance(2 * time.Second)
	assert.Equal(t, "INVALID_ARGUMENT", w.outcome(again))
	assert.Equal(t, "0; r SUCCEEDED; n0 DELETING STOPPING;", w.shows())
	w.Advance(10 * time.Second)
	assert.Equal(t, "0; r SUCCEEDED;", w.shows())
}

func TestGroupDoesNotRepairALostVM(t *testing.T) {
	for _, booting := range []bool{true, false} {
		w := granted(t, slow(), "lost", "stopped")
		w.Advance(10 * time.Second)
		if !booting {
			w.Advance(10 * time.Second)
		}
		require.NoError(t, w.DeleteVM("lost"))
		require.NoError(t, w.StopVM("stopped"))
		assert.Equal(t, "2; r SUCCEEDED; lost NONE; stopped NONE TERMINATED;", w.shows())
		assert.Nil(t, w.members("m")["lost"].InstanceStatus)
		assert.NotEmpty(t, w.members("m")["lost"].GetInstance(), "its URL stays")
		w.Advance(2 * time.Hour)
		assert.Equal(t, "2; r SUCCEEDED; lost NONE; stopped NONE TERMINATED;", w.shows(), "a stopped instance has no lease to end")
		assert.Zero(t, w.vm("stopped").Terminates)

		w.begun(w.deleteInstances("m", "zones/us-central1-a/instances/lost", "zones/us-central1-a/instances/stopped"))
		w.Advance(time.Minute)
		assert.Equal(t, "0; r SUCCEEDED;", w.shows())
		assert.Error(t, w.DeleteVM("lost"))
	}
}

func TestDeleteInstancesRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		refs     string
		skip     bool
		code     string // of the operation; empty if it succeeds
		survives bool
	}{
		"a malformed URL, even when it may skip":              {`"zones//n0"`, true, "INVALID_ARGUMENT", true},
		"another region's instance, even when it may skip":    {`"zones/europe-west4-a/instances/n0"`, true, "INVALID_ARGUMENT", true},
		"an instance outside the group":                       {`"zones/us-central1-a/instances/other"`, false, "INVALID_ARGUMENT", true},
		"nothing, if it may skip instances outside the group": {`"zones/us-central1-a/instances/other","` + refN0 + `"`, true, "", false},
	} {
		w := granted(t, Options{}, "n0")
		w.post(pathM+"/deleteInstances", fmt.Sprintf(`{"instances":[%s],"skipInstancesOnValidationError":%t}`, c.refs, c.skip))
		operations := w.State().Operations
		code, _, _ := strings.Cut(operations[len(operations)-1].Error, ":")
		assert.Equal(t, c.code, code, name)
		assert.Equal(t, c.survives, len(w.State().Instances) == 1, name)
	}
}
