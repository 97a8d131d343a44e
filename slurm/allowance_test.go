package slurm

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// associationsIn returns the associations and QOS in valid output of scontrol, from a Slurm with flag safe.
func associationsIn(t *testing.T, out string) (map[AssociationKey]*Association, map[string]*QOS) {
	t.Helper()
	associations, qos, err := ParseAssociations([]byte(out), true)
	require.NoError(t, err)
	return associations, qos
}

func TestAllowancesOfEachVersion(t *testing.T) {
	for _, version := range []string{"22.05.8", "24.11.5", "26.05.3"} {
		t.Run(version, func(t *testing.T) {
			associations, qos := associationsIn(t, string(fixture(t, version, "16-assoc-mgr.txt")))
			root := &Association{Account: "root"}
			phys := &Association{Parent: root, Account: "phys", Allowances: []Allowance{{"GrpTRES", "node", 6, 3}}}
			ml := &Association{Parent: phys, Account: "ml", Allowances: []Allowance{
				{"GrpJobs", "jobs", 5, 2}, {"GrpTRES", "node", 2, 2}, {"GrpTRES", "gres/gpu", 8, 8}, {"MaxJobs", "jobs", 2, 2}, {"MaxTRESPJ", "node", 8, 0},
			}}
			assert.Equal(t, map[AssociationKey]*Association{
				{"root", "", ""}: root, {"root", "root", ""}: {Parent: root, Account: "root", UID: "0"},
				{"phys", "", ""}: phys, {"phys", "man", ""}: {Parent: phys, Account: "phys", UID: "6", Allowances: []Allowance{{"GrpTRES", "cpu", 16, 4}}},
				{"ml", "", ""}: ml, {"ml", "games", ""}: {Parent: ml, Account: "ml", UID: "5", Allowances: []Allowance{{"MaxJobs", "jobs", 2, 2}, {"MaxTRESPJ", "node", 8, 0}}},
				{"ml", "man", "flex"}: {Parent: ml, Account: "ml", UID: "6", Allowances: []Allowance{{"MaxJobs", "jobs", 1, 0}, {"MaxTRESPJ", "node", 8, 0}}},
			}, associations)
			assert.Equal(t, map[string]*QOS{
				"normal": {Accounts: map[string][]Allowance{"ml": nil, "phys": nil}, Users: map[string][]Allowance{"5": nil, "6": nil}},
				"partq": {
					Allowances: []Allowance{{"GrpTRES", "node", 5, 1}},
					Accounts:   map[string][]Allowance{"phys": nil}, Users: map[string][]Allowance{"6": nil},
				},
				"big": {
					Allowances: []Allowance{{"GrpJobs", "jobs", 9, 1}, {"GrpTRES", "node", 6, 1}},
					Accounts:   map[string][]Allowance{"ml": {{"MaxJobsPA", "jobs", 4, 1}, {"MaxTRESPA", "node", 5, 1}}},
					Users:      map[string][]Allowance{"5": {{"MaxJobsPU", "jobs", 3, 1}, {"MaxTRESPU", "node", 3, 1}, {"MaxTRESPU", "gres/gpu", 12, 4}}},
				},
			}, qos)
			assert.Equal(t, map[string]*Allowance{
				"fluent@srv": {"Licenses", "license/fluent@srv", 10, 0}, "matlab": {"Licenses", "license/matlab", 4, 1},
			}, ParseLicenses(fixture(t, version, "16-licenses.txt")))
			assert.Equal(t, map[uint32]Charge{2: {Account: "ml", QOS: "big", Licenses: "matlab:2,fluent@srv"}, 4: {Account: "ml", QOS: "normal"}, 5: {Account: "ml", QOS: "normal"}},
				ParseCharges(fixture(t, version, "16-charges.txt"), "MARK"))
		})
	}
}

func TestMinutesThatRunningJobsMayUseCountWithSafe(t *testing.T) {
	row := func(rest string) []byte {
		return []byte("Current Association Manager state\nClusterName=a Account=ml UserName= Partition= ID=3 " + rest + " MaxJobs=\n" +
			"QOS=free(1) UsageRaw=0.000000 GrpTRESRunMins=cpu=9(0),node=N(0)\n" + "QOS=used(2) UsageRaw=7.000000 GrpTRESRunMins=cpu=N(0)\n" + "QOS=runs(3) UsageRaw=0.000000 GrpTRESRunMins=cpu=N(0),node=N(30)\n")
	}
	key := AssociationKey{Account: "ml"}
	for safe, want := range map[bool][]Allowance{
		true:  {{"GrpTRESMins", "cpu minutes", 1000, 640}, {"GrpTRESMins", "node minutes", 50, 60}, {"GrpTRESRunMins", "gres/gpu minutes", 90, 30}},
		false: {{"GrpTRESMins", "cpu minutes", math.MaxInt64, 400}, {"GrpTRESMins", "node minutes", 50, 50}, {"GrpTRESRunMins", "gres/gpu minutes", 90, 30}},
	} {
		associations, qos, err := ParseAssociations(row("GrpTRESMins=cpu=1000(400),node=50(50),gres/gpu=N(7) GrpTRESRunMins=cpu=N(240),node=N(10),gres/gpu=90(30)"), safe)
		require.NoError(t, err)
		assert.Equal(t, want, associations[key].Allowances)
		assert.Equal(t, []bool{true, false, false}, []bool{qos["free"].Uncharged, qos["used"].Uncharged, qos["runs"].Uncharged})
	}
}

func TestLimitsOfNodesAndMinutesAreRead(t *testing.T) {
	_, qos := associationsIn(t, "Current Association Manager state\n"+
		"QOS=pn(1) UsageRaw=1.0 MaxTRESPJ= MaxTRESPN=cpu=4 MaxTRESMinsPJ=node=88 Account Limits= ml={MaxTRESRunMinsPA=node=77(7)} User Limits= ann(5)={MaxJobsPU=N(1) MaxTRESRunMinsPU=cpu=1000(30)}\n")
	assert.Equal(t, &QOS{
		Allowances: []Allowance{{PerNode, "cpu", 4, 0}, {JobMinutes, "node minutes", 88, 0}},
		Accounts:   map[string][]Allowance{"ml": {{"MaxTRESRunMinsPA", "node minutes", 77, 7}}},
		Users:      map[string][]Allowance{"5": {{"MaxTRESRunMinsPU", "cpu minutes", 1000, 30}}},
	}, qos["pn"])
}

func TestTruncatedAssociationsAreNotRead(t *testing.T) {
	for _, out := range []string{"", "slurm_load_assoc_mgr_info error", "Current Association Manager state\nClusterName=a Account=b"} {
		_, _, err := ParseAssociations([]byte(out), true)
		assert.Error(t, err, out)
	}
	associations, qos := associationsIn(t, "Current Association Manager state\nNo associations currently cached in Slurm.\nClusterName=a UserName= ID=4\nQOS=x\n")
	assert.Empty(t, associations)
	assert.Empty(t, qos)
}

// sacctmgr makes a comment lower-case, but keeps its line breaks.
func TestAssociationCommentSetsNoLimit(t *testing.T) {
	associations, _ := associationsIn(t, "Current Association Manager state\n"+
		"ClusterName=a Account=ml UserName= Partition= Priority=0 ID=3 ParentAccount=root(1) MaxJobs= Comment=x grptres= GrpTRES=node=0(0)\nclustername=a account=ml\n")
	assert.Equal(t, map[AssociationKey]*Association{{"ml", "", ""}: {Account: "ml"}}, associations)
}

func TestReservedLicensesAreNotCounted(t *testing.T) {
	assert.Equal(t, map[string]*Allowance{"a": {"Licenses", "license/a", 6, 3}}, ParseLicenses([]byte(
		"LicenseName=a Total=10 Used=3 Free=5 Reserved=2 Remote=yes LastConsumed=4 LastDeficit=2 LastUpdate=2026-11-25T10:00:00\n"+
			"LicenseName=twice Total=1 Used=0\nLicenseName=twice Total=1 Used=0\nLicenseName=\n")))
	assert.Empty(t, ParseLicenses([]byte("No licenses configured in Slurm.\n")))
}

func TestJobNeedsLicenses(t *testing.T) {
	for text, want := range map[string]map[string]int64{
		"a":                            {"a": 1},
		"a:2,b@srv:3,a:1":              {"a": 3, "b@srv": 3},
		"a:1|b:1":                      {"a": 0},
		"a(n1):2":                      {"a(n1)": 2}, // no license has this name
		"a:x,b:99999999999999999999,c": {"a": 0, "b": 0, "c": 1},
	} {
		assert.Equal(t, want, Charge{Licenses: text}.NeedsLicenses(), text)
	}
}

func chargeRow(id, array, account, qos, licenses string) string {
	return chargeRowWith(id, account, qos, licenses, array, "0:00", "0", "0", "N/A", "N/A", "N/A", "N/A", "N/A", "0", "*:*:*")
}

func chargeRowWith(id string, columns ...string) string {
	return id + "|m<" + strings.Join(columns, ">m|m<") + ">m\n"
}

// As 22.05 and 26.05 show them.
func TestChargeShowsHowAJobChoosesItsNodes(t *testing.T) {
	plain := []string{"ml", "normal", "(null)", "7", "12:00", "0", "0", "N/A", "N/A", "N/A", "N/A", "N/A", "0", "*:*:*"}
	for at, text := range map[int]string{
		5: "1", 6: "1", // --switches, --contiguous
		7: "gres:gpu:2", 8: "gres/gpu=1", 9: "gres:gpu:1", 10: "gres/gpu:2", 11: "gres:gpu:100", 12: "100", 13: "1:*:*",
	} {
		columns := slices.Clone(plain)
		columns[at] = text
		charge := ParseCharges([]byte(chargeRowWith("7", columns...)), "m")[7]
		assert.Equal(t, Charge{Account: "ml", QOS: "normal", MinTime: 12 * time.Minute, ByPosition: at < 7, ByHardware: at > 6}, charge, "%d: %s", at, text)
	}
}

func TestArrayTasksShareACharge(t *testing.T) {
	charges := Allowances{Charges: ParseCharges([]byte(chargeRow("12", "9", "ml", "normal", "(null)")), "m")}
	assert.Equal(t, Charge{Account: "ml", QOS: "normal"}, charges.ChargeOf(&Job{ID: 11, ArrayID: 9}))
	assert.Zero(t, charges.ChargeOf(&Job{ID: 11, ArrayID: 11}))
}

func FuzzChargeIsNoOtherJobs(f *testing.F) {
	seeds(f, append(ownersTexts, "x>m\n7|m<evil>m|m<>m|m<>m|7\n", "|||")...)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "m") {
			t.Skip("an unpredictable mark")
		}
		charges := ParseCharges([]byte(chargeRow("7", "7", "ml", "normal", "")+chargeRow("9", "9", text, text, text)+chargeRow("8", "8", "chem", "", "a:1")), "m")
		require.NotRegexp(t, `[[:cntrl:]|]`, charges[9].Licenses)
		delete(charges, 9)
		require.Equal(t, map[uint32]Charge{7: {Account: "ml", QOS: "normal"}, 8: {Account: "chem", Licenses: "a:1"}}, charges)
		_, _, _ = ParseAssociations([]byte("Current Association Manager state\n"+text+"\n"), true)
		ParseLicenses([]byte(text))
		Charge{Licenses: text}.NeedsLicenses()
	})
}

// Names of a directory may contain spaces.
func TestAssociationOfAUserWithASpaceInItsName(t *testing.T) {
	text := string(fixture(t, "26.05.3", "16-assoc-mgr.txt"))
	want, _ := associationsIn(t, text)
	got, _ := associationsIn(t, strings.ReplaceAll(text, "UserName=man(6)", "UserName=jane doe(6)"))
	phys := AssociationKey{Account: "phys"}
	require.Equal(t, want[phys].Allowances, got[phys].Allowances, "the account's own limits")
	a := got[AssociationKey{Account: "phys", User: "jane doe"}]
	require.NotNil(t, a, "the user's limits")
	require.Equal(t, "6", a.UID)
}
