package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestArrayRecordIsOneJobPerTask(t *testing.T) {
	jobs := parseJobs("JobId=7 ArrayJobId=7 ArrayTaskId=1,4-8:2%3 JobName=x UserId=games(5) JobState=PENDING Reason=None NumNodes=2-4 TRES=cpu=8,node=2,gres/gpu=4 Licenses=matlab:2\n")
	var keys []string
	for _, j := range jobs {
		keys = append(keys, j.key)
	}
	assert.Equal(t, []string{"7_1", "7_4", "7_6", "7_8"}, keys)
	j := jobs[0]
	assert.Equal(t, []int{2, 4, 3, 4}, []int{j.min, j.max, j.throttle, j.gpus})
	assert.Equal(t, map[string]int{"matlab": 2}, j.licenses)
	assert.Equal(t, "games", j.user)
}

func TestTasksWithoutNodesNeedTheFewestNodes(t *testing.T) {
	j := parseJobs("JobId=7 JobState=PENDING NumNodes=4-13 NumTasks=13 ReqTRES=cpu=13,node=1,billing=13\n")[0]
	assert.Equal(t, []int{4, 4}, []int{j.min, j.max}, "26.05, sbatch -n13")
	j = parseJobs("JobId=7 JobState=PENDING NumNodes=2-4 NumTasks=2 ReqTRES=cpu=2,node=2,billing=2\n")[0]
	assert.Equal(t, []int{2, 4}, []int{j.min, j.max}, "sbatch -N2-4")
}

func TestLimitsHoldForAllThatAJobCountsFor(t *testing.T) {
	l := readLimits(`Association Records

ClusterName=alpha Account=ml UserName= Partition= Priority=0 ID=4
    ParentAccount=root(1) Lft=20 DefAssoc=No
    GrpJobs=N(0) GrpJobsAccrue=N(0)
    GrpTRES=cpu=N(0),mem=N(0),node=4(0),gres/gpu=N(0)
    MaxJobs= MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=
ClusterName=alpha Account=ml UserName=games(5) Partition= Priority=0 ID=14
    ParentAccount= Lft=21 DefAssoc=No
    MaxJobs=1(0) MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=
QOS Records

QOS=small(2)
    GrpJobs=N(2) GrpJobsAccrue=N(2)
    User Limits
      5
        MaxJobsPU=N(1) MaxJobsAccruePU=N(2) MaxSubmitJobsPU=N(3)
        MaxTRESPU=cpu=N(12),mem=N(0),node=3(3)
`, "LicenseName=matlab Total=4 Used=0 Free=4 Reserved=0 Remote=no\n")
	require.Equal(t, map[string][]limit{"ml/": {{"node", 4}}, "ml/games": {{"jobs", 1}}, "qos:small/5": {{"node", 3}}}, l.of)
	assert.Equal(t, 4, l.licenses["matlab"])
	u := &usage{limits: l, used: map[string]map[string]int{}, licenses: map[string]int{}, tasks: map[string]int{}}
	j := &job{key: "1", account: "ml", user: "games", qos: "small", min: 2, licenses: map[string]int{"matlab": 3}}
	assert.Equal(t, 3, u.allows(j, 3))
	assert.Equal(t, 2, u.allows(j, 4), "the QOS allows its user three nodes: the job's least number")
	u.add(j, 2)
	assert.Zero(t, u.allows(&job{key: "2", account: "ml", user: "games", qos: "normal", min: 1}, 1), "the user may run one job")
	assert.Equal(t, 2, u.allows(&job{key: "3", account: "ml", user: "man", qos: "normal", min: 2}, 2))
	assert.Zero(t, u.allows(&job{key: "4", account: "ml", user: "man", qos: "normal", min: 3}, 3), "the account has four nodes")
	assert.Zero(t, u.allows(&job{key: "5", min: 1, licenses: map[string]int{"matlab": 2}}, 1))
}
