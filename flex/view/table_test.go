package view

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// wide returns a view with a row that is too wide for any usual terminal.
func wide() View {
	v := busy().view()
	v.Rows = append(v.Rows, Row{
		NodeSet: "a-nodeset-of-a-long-name", Users: []string{"somebody-with-a-long-name"}, Nodes: scenetest.Names("alpha-a-nodeset-of-a-long-name-[0-63]"),
		ShownAs: []string{"4294967290_17", "4294967290_18", "4294967290_19"}, State: Cancelling, Lease: Seconds(7 * 24 * time.Hour),
		EndsAt: noon.Add(11*time.Hour + 59*time.Minute), Estimate: &Estimate{Median: Seconds(37 * time.Minute)},
	})
	return v
}

// C8
func TestNoNumberIsCutAtAnyWidth(t *testing.T) {
	v := wide()
	number := regexp.MustCompile(`\d+`)
	for _, layout := range []Layout{{Now: noon}, {Now: noon, Wide: true}} {
		whole := number.FindAllString(v.Table(layout), -1)
		for width := 24; width <= 260; width++ {
			layout.Width = width
			text := v.Table(layout)
			narrow(t, text, width)
			assert.Subset(t, whole, number.FindAllString(text, -1), "width %d", width)
			inOneLine := unwrapped(text)
			cells := []string{" 4294967290_17 +2 ", " 7-00:00:00 ", " ends in 11h59m "}
			if layout.Wide {
				cells = append(cells, " 37m / ? ")
			}
			for _, cell := range cells {
				assert.Contains(t, inOneLine, cell, "width %d", width)
			}
		}
	}
}

func TestFileHasEachParagraphOnOneLine(t *testing.T) {
	text := wide().table()
	assert.Regexp(t, `(?m)^jobs: 4 waiting.* problems: 2$`, text)
	assert.Regexp(t, `(?m)^a-nodeset-of-a-long-name +4294967290_17 \+2 +somebody-with-a-long-name +alpha-a-nodeset-of-a-long-name-\[0-63\] .* ends in 11h59m$`, text)
}

// U14
func TestStatusShowsItsAgeFromTheFirstSecond(t *testing.T) {
	v := busy().view()
	for age, want := range map[time.Duration]string{
		500 * time.Millisecond: "cluster alpha at 12:00:00 UTC\n",
		8 * time.Second:        "cluster alpha at 12:00:00 UTC, 8s ago\n",
		75 * time.Second:       "cluster alpha at 12:00:00 UTC, 1m ago\n",
	} {
		text := v.Table(Layout{Now: noon.Add(age)})
		assert.True(t, strings.HasPrefix(text, want), "%s: %s", age, strings.SplitN(text, "\n", 2)[0])
	}
}

func TestWideTableHasMoreColumns(t *testing.T) {
	v := busy().view()
	for i := range v.Rows {
		if v.Rows[i].State == Queued {
			v.Rows[i].Estimate = &Estimate{Median: Seconds(18 * time.Minute), P90: Seconds(26 * time.Hour), Requests: 39}
		}
	}
	text := v.Table(Layout{Now: noon, Wide: true})
	assert.Regexp(t, `(?m)^NODESET .* TIME +ESTIMATE +COUNT +GPUS +PLACE +SINCE +ENDS +GROUP$`, text)
	assert.Regexp(t, `(?m)^a3 +812 .* for 1h30m +18m / 1d02h +2 +16 +us-central1 +2026-11-21T10:30:00Z +- +alpha-a3-job-812/a2$`, text)
	assert.Regexp(t, `(?m)^a3 +813 .* ends in 2h00m +- +3 +24 +us-central1-a +2026-11-21T10:00:00Z +2026-11-21T14:00:00Z +alpha-a3-job-813$`, text)
	assert.NotContains(t, busy().table(), "GPUS")
}

func TestCommonDetailOfRowsAppearsOnce(t *testing.T) {
	row := func(nodeset, node, lost string) Row {
		return Row{NodeSet: nodeset, Nodes: []string{node}, State: Lost, Obstacle: lost}
	}
	assert.Equal(t, []string{"", "", "other", "a-0,a-1,b-0: gone"},
		Details([]Row{row("a", "a-0", "gone"), row("a", "a-1", "gone"), row("a", "a-2", "other"), row("b", "b-0", "gone")}, noon))
}

func TestCommonDetailOfRowsHasTheEarliestTime(t *testing.T) {
	row := func(job string, minutes int) Row {
		return Row{ShownAs: []string{job}, State: Queued, Cause: mig.CauseCapacity, Error: "exhausted", Brief: "no capacity", GiveUpAt: at(minutes)}
	}
	assert.Equal(t, []string{"", "812,813: no capacity; gives up at 12:02:00 or later"}, Details([]Row{row("812", 2), row("813", 5)}, noon))
	assert.Equal(t, []string{"", "812,813: no capacity; gives up at 12:02:00"}, Details([]Row{row("812", 2), row("813", 2)}, noon))
}

func TestSimilarPendingJobsOfAUserShareARow(t *testing.T) {
	s := newWorld()
	for id := range uint32(12) {
		s.pending(820+id, "Priority")
	}
	s.pending(840, "Resources").User = "grace"
	s.pending(841, "Priority").Partition = "cpu"
	s.Snap.Jobs[10].Start, s.Snap.Jobs[11].Start, s.Snap.Jobs[12].Start = at(180), at(120), at(60)
	s.Snap.Jobs[0].Limit = slurm.ParseLimit("8:00:00")
	text := s.table()
	assert.Regexp(t, `\na3 +820,821,822 \+9 +ada +- +pending +- +-\n    pending in partition train: jobs of higher priority go first \(Priority\); the first is expected to start at 14:00:00\n`, text)
	assert.Regexp(t, `\na3 +840 +grace +- +pending +04:00:00 +-\n    pending in partition train: too few nodes are free \(Resources\); expected to start at 13:00:00\n`, text)
	assert.NotContains(t, text, "841", "slurmflex is not involved")
	assert.Contains(t, text, "\njobs: 13 waiting, ")
}

func TestFilterShowsOnlyMatches(t *testing.T) {
	s := busy()
	s.pending(817, "Resources").Partition = "train,short"
	s.job(818, "always", "alpha-st-0", slurm.JobRunning).User = "grace"
	s.Nodes("alpha-st-0", "ALLOCATED+CLOUD")
	all := s.view()
	all.NodeSets[0].Partitions = []string{"train", "night"}
	all.Jobs[3].Partition = "night"
	for _, c := range []struct {
		filter            Filter
		jobs              []uint32 // of the rows
		nodesets, regions string
		groups            int
	}{
		{Filter{NodeSet: "st"}, []uint32{818}, "st", "us-central1", 2},
		{Filter{Partition: "train"}, []uint32{814, 812, 816, 817, 813}, "a3", "us-central1", 3},
		{Filter{Partition: "short"}, []uint32{817}, "g2", "europe-west4", 0},
		{Filter{User: "grace"}, []uint32{816, 818}, "a3 g2 st", "europe-west4 us-central1", 0},
		{Filter{User: "grace", Partition: "always"}, []uint32{818}, "st", "us-central1", 0},
	} {
		t.Run(fmt.Sprint(c.filter), func(t *testing.T) {
			v, err := all.Select(c.filter)
			require.NoError(t, err)
			var jobs []uint32
			for _, r := range sorted(slices.Concat(v.Rows, v.Pending())) {
				jobs = append(jobs, r.Jobs...)
			}
			assert.ElementsMatch(t, slices.Compact(slices.Sorted(slices.Values(c.jobs))), slices.Compact(slices.Sorted(slices.Values(jobs))))
			var sets, regions []string
			for _, set := range v.NodeSets {
				sets = append(sets, set.Name)
			}
			for _, r := range v.Regions {
				regions = append(regions, r.Name)
			}
			assert.Equal(t, c.nodesets, strings.Join(sets, " "))
			assert.Equal(t, c.regions, strings.Join(regions, " "))
			assert.Len(t, v.Groups, c.groups)
			assert.Equal(t, all.Problems, v.Problems)
		})
	}
	assert.Len(t, all.Rows, 6, "the view itself does not change")
}
