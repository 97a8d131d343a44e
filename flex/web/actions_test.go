package web

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/view"
	"slurmflex/mig"
)

// deletion is the record of an attempt to delete a group.
func deletion(group string, after time.Duration, err error) view.Action {
	return view.Record(action.DeleteGroup{Of: action.Of{Group: mig.GroupID{Name: group}}, Why: "it is empty"}, noon.Add(after), time.Second, err)
}

func TestRepeatedFailuresAreOneCountedAction(t *testing.T) {
	var last []view.Action
	for i := range 3 {
		last = withAction(last, deletion("g", time.Duration(i)*time.Minute, errors.New("503")))
	}
	done := deletion("g", 3*time.Minute, nil)
	failed := deletion("g", 2*time.Minute, errors.New("503"))
	failed.Times = 3
	assert.Equal(t, []view.Action{done, failed}, withAction(last, done))
}

func TestMessagesToJobsAreShownOnlyIfTheyFail(t *testing.T) {
	message := action.CommentJob{OfJob: action.OfJob{Job: 7}}
	assert.Empty(t, withAction(nil, view.Record(message, noon, time.Second, nil)))
	failed := view.Record(message, noon, time.Second, errors.New("Invalid job id specified"))
	assert.Equal(t, []view.Action{failed}, withAction(nil, failed))
}

func TestOldestActionsAreForgotten(t *testing.T) {
	var last []view.Action
	for i := range actionsKept + 7 {
		last = withAction(last, deletion(fmt.Sprint(i), 0, nil))
	}
	assert.Len(t, last, actionsKept)
	assert.Equal(t, "306", last[0].Group)
	assert.Equal(t, "7", last[actionsKept-1].Group)
}
