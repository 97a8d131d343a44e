package main

// Where the bugs are looked for.
var (
	planner   = []string{"flex/plan/...", "flex"}
	passes    = []string{"flex"}
	client    = []string{"mig/gce", "flex"}
	scheduler = []string{"slurm", "slurm/scontrol"}
	history   = []string{"flex/history", "flex/metrics"}
)

// mutants are the bugs that tests must find. Most are those that the prior art
// had, or that a tired person might write.
var mutants = []mutant{
	{
		"only the first page of a list is read", "mig/gce/instances.go",
		`"kind,nextPageToken,warning(code,message)"`, `"kind,warning(code,message)"`, client,
	},
	{
		"a page with a warning is taken for complete", "mig/gce/list.go",
		`if w != nil && w.Code != "NO_RESULTS_ON_PAGE" {`, `if w != nil && w.Code == "" {`, client,
	},
	{
		"a dead zone that the cluster does not use makes its region unread", "mig/gce/outages.go",
		"	if !used {\n		return nil\n	}\n	return err\n", "	return err\n", client,
	},
	{
		"a dead zone is taken for empty", "mig/gce/outages.go",
		"	if !used {\n		return nil\n	}\n	return err\n", "	return nil\n", client,
	},
	{
		"an operation that failed is taken for done", "mig/gce/operation.go",
		"if faults := operationFaults(op); len(faults) > 0 {", "if faults := operationFaults(op); len(faults) > 1000 {", client,
	},
	{
		"another cluster's groups are taken for ours", "mig/gce/groups.go",
		"return stamp, \"\", ours && stamp.Cluster == cluster", "return stamp, \"\", ours", client,
	},
	{
		"a settled group that has grown is not read again", "mig/gce/settled.go",
		"return g.TargetSize <= r.size && g.Creating == 0 && ", "return ", client,
	},
	{
		"a call that failed for a moment is not tried again", "mig/gce/wire.go",
		"if n >= maxAttempts {", "if n >= 1 {", client,
	},
	{
		"deletions wait behind lists for the rate limit", "mig/gce/limiter.go",
		"\t\treturn toEnd\n", "\t\treturn toLook\n", client,
	},
	{
		"a node is taken for one with a similar name", "mig/request.go",
		"return slices.Contains(r.Instances, instance)",
		"return slices.ContainsFunc(r.Instances, func(n string) bool { return len(n) <= len(instance) && instance[:len(n)] == n })",
		[]string{"mig", "flex/plan", "flex"},
	},
	{
		"a node's index beyond the nodeset is ours", "config/config.go",
		"|| index >= ns.Size() {", "{",
		[]string{"config", "flex/plan"},
	},
	{
		"a region that could not be read is taken for empty", "flex/plan/scene/scene.go",
		"return s.Seen.Unseen[region] != nil || ", "return ", planner,
	},
	{
		"unread instances of a region are forgotten", "flex/observe/cloud.go",
		"	maps.Copy(snap.Unseen, unseenInstances)\n", "	_ = unseenInstances\n", passes,
	},
	{
		"a group is deleted before its request is cancelled", "flex/plan/sweeps/groups.go",
		"s.GroupOf[key] || len(g.Live()) > 0 || s.Group(key).Shown > 0 ||", "s.GroupOf[key] || s.Group(key).Shown > 0 ||", planner,
	},
	{
		"a group is deleted with machines in it", "flex/plan/sweeps/groups.go",
		"s.GroupOf[key] || len(g.Live()) > 0 || s.Group(key).Shown > 0 ||", "s.GroupOf[key] || len(g.Live()) > 0 ||", planner,
	},
	{
		"every attempt has the same name", "flex/plan/memo/name.go",
		`return "a" + strconv.Itoa(last+1)`, `return "a" + strconv.Itoa(min(last+1, 1))`, planner,
	},
	{
		"a job's failures are forgotten when it is requeued", "flex/plan/sweeps/groups.go",
		"return !(counts && s.HasJobOf(g.Stamp)) && ", "_ = counts\n\treturn ", planner,
	},
	{
		"a request is cancelled while it is being created", "flex/plan/draft.go",
		"case r.Misfit != \"\" && r.Request.State != mig.Creating:", "case r.Misfit != \"\":", planner,
	},
	{
		"a dead job's request is kept", "flex/plan/demand/requests.go",
		`return "no job wants node " + name + " any more"`, `continue`, planner,
	},
	{
		"a shared request is cancelled with its first unwanted machine", "flex/plan/demand/requests.go",
		"if shared && 2*len(unwanted) > len(r.Request.Instances) {",
		"if len(unwanted) > 0 {", planner,
	},
	{
		"a request has one more machine than share_requests", "flex/plan/rules/share.go",
		"if len(first.With)+1 >= t.size(c) {", "if len(first.With) >= t.size(c) {", planner,
	},
	{
		"few single jobs share a request", "flex/plan/rules/share.go",
		"\tif c.Stamp.User == \"\" {\n", "\tif true {\n", planner,
	},
	{
		"a job that shares a request overtakes another user's", "flex/plan/rules/share.go",
		"first != nil && !t.overtakes(c) {", "first != nil {", planner,
	},
	{
		"doors of later passes do not count as jobs without a request", "flex/plan/rules/share.go",
		"\tmaps.Copy(t.lack, t.Handed.Later)\n", "\tmaps.Copy(t.lack, map[demand.UserIn]int{})\n", planner,
	},
	{
		"the machine of a cancelled job is given to no other", "flex/plan/demand/handout.go",
		`m.Cover && h.isUnclaimed(m)`, `false`, planner,
	},
	{
		"a request with too short a lease is adopted", "flex/plan/demand/requests.go",
		"if isShort(r, c) && !isEnough(w.Scene, r, c) {",
		"if asked := r.Request.Duration; asked < 0 {", planner,
	},
	{
		"an instance that is being deleted is not waited for", "flex/plan/demand/missing.go",
		"\t\tcase leaves:\n", "\t\tcase leaves && false:\n", planner,
	},
	{
		"a heterogeneous job's first component does not come last", "flex/plan/rules/rules.go",
		"\t{componentsFirst, Obstructs},\n", "", planner,
	},
	{
		"one request more than max_active_requests", "flex/plan/rules/places.go",
		"free := most - p.inRegion[c.Set.Region]", "free := most + 1 - p.inRegion[c.Set.Region]", planner,
	},
	{
		"a request keeps its place however long a more important job waits", "flex/plan/rules/turn.go",
		"after == 0 || !t.IsOld(r.Request.Created, after)", "after >= 0", planner,
	},
	{
		"one user's jobs may have all places", "flex/plan/rules/places.go",
		"p.ofUser[user] >= most", "p.ofUser[user] < 0", planner,
	},
	{
		"a request is cancelled before its job can read why", "flex/plan/action/action.go",
		"return telling", "return telling && false", planner,
	},
	{
		"the least important job is served first", "flex/plan/scene/jobs.go",
		"cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID, b.ID))",
		"cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID))", planner,
	},
	{
		"a lease shorter than ten minutes", "flex/plan/scene/lease.go",
		"return min(max(need, mig.MinDuration), longest)", "return min(need, longest)", planner,
	},
	{
		"the margin is forgotten", "flex/plan/scene/lease.go",
		"need = max(need, j.Limit.Duration+flex.JobDurationMargin)", "need = max(need, j.Limit.Duration)", planner,
	},
	{
		"the shortest need of a shared node counts", "flex/plan/scene/lease.go",
		"	var need time.Duration\n", "	need := jobs[0].Limit.Duration\n	if len(jobs) > 1 {\n		return max(need, mig.MinDuration)\n	}\n", planner,
	},
	{
		"the deletion limit does not apply", "flex/plan/sweeps/instances.go",
		"\tb.left--\n", "", planner,
	},
	{
		"nodes that an admin drained are powered down", "flex/plan/sweeps/nodes.go",
		"case m.State.IsIdle() && !m.State.Has(slurm.Fail) && (!m.State.Has(slurm.Drain) || m.IsChecked):\n\t\t\torphans",
		"default:\n\t\t\torphans", planner,
	},
	{
		"a node with a job is recovered as if it were idle", "flex/plan/sweeps/losses.go",
		"len(m.Holders) > 0 || m.State.Held() || out {", "out {", planner,
	},
	{
		"a node is set down by one list that lacks its machine", "flex/plan/scene/losses.go",
		"m.LostBy != \"\" && s.Seen.Missed[m.Name] &&", "m.LostBy != \"\" &&", planner,
	},
	{
		"a node is set DOWN although its group lists its machine", "flex/plan/scene/losses.go",
		"s.isHidden(m) || m.MayShow ||", "s.isHidden(m) ||", planner,
	},
	{
		"a pass that could not read a moved nodeset's old region counts as one without the machine", "flex/memory/missed.go",
		"hidden[name] == \"\"", "hidden[name] != name", passes,
	},
	{
		"a node of a moved nodeset gets a second request while the old region is unread", "flex/plan/scene/unread.go",
		"m != nil && !s.Unseen(m.Set.Region) {", "m != nil && s.Unseen(m.Set.Region) {", passes,
	},
	{
		"a region that no nodeset has any more is read no longer", "flex/memory/regions.go",
		"if !slices.Contains(of, region) {", "if region == \"\" && !slices.Contains(of, region) {", passes,
	},
	{
		"a node is usable again while its machine lives", "flex/plan/sweeps/nodes.go",
		"if m.Power != scene.Off || m.Taken() || m.Present() ||", "if m.Power != scene.Off || m.Taken() ||", planner,
	},
	{
		"a reservation of a year is left alone", "flex/plan/sweeps/reservations.go",
		" || r.End.After(until):", ":", planner,
	},
	{
		"a reservation ends while its node is up", "flex/plan/sweeps/reservations.go",
		"r.End.Before(until.Add(-grace/2)) || ", "", planner,
	},
	{
		"a start behind a reservation of ours is believed", "flex/view/of.go",
		"ends := h.Kind == memo.LeaseHold && !h.Start.After(j.Start)", "ends := h.Kind == memo.LeaseHold && h.Start.IsZero()",
		[]string{"flex/view"},
	},
	{
		"reservations of other clusters are ours", "flex/plan/memo/hold.go",
		`rest, ok := strings.CutPrefix(reservation, "slurmflex-"+cluster)`,
		`rest, ok := strings.TrimLeft(strings.TrimPrefix(reservation, "slurmflex-"), "abcdefghijklmnopqrstuvwxyz"), cluster != ""`, planner,
	},
	{
		"a machine that does not boot is deleted under a job that Slurm requeues", "flex/plan/sweeps/boots.go",
		" && w.WouldEnd(c.Holders)", "", planner,
	},
	{
		"a machine that does not boot is never replaced", "flex/plan/sweeps/boots.go",
		"return c != nil && c.Job != nil", "return false && c.Job != nil", planner,
	},
	{
		"an outage ends jobs at ResumeTimeout", "flex/plan/sweeps/waiting.go",
		"if !waits && !unsure || c.Door != nil {", "if !waits || unsure && !waits || c.Door != nil {", planner,
	},
	{
		"ResumeTimeout starts over while machines are being made", "flex/plan/sweeps/waiting.go",
		"r.State == mig.Accepted && !anyOurs(w.Scene, r.Instances)", "r.State == mig.Accepted", planner,
	},
	{
		"the wait between attempts does not grow", "flex/plan/rules/backoff.go",
		"\t\twait *= 2\n", "", planner,
	},
	{
		"configuration errors are tried again like any other", "mig/cause.go",
		"CauseConfig:      Holds", "CauseConfig:      BacksOff", planner,
	},
	{
		"J4: a job that slurmctld refuses its door is tried again for good", "flex/apply/reservation.go",
		"times < refusals ||", "times < 1000*refusals ||",
		[]string{"flex/apply"},
	},
	{
		"J4: machines are requested before the job names its door", "flex/plan/rules/door.go",
		"case !d.Named && !slices", "case false && !slices", planner,
	},
	{
		"K1: machines are requested before Slurm has looked at the job", "flex/plan/rules/door.go",
		`case d.Job.Reason == "None" && `, `case d.Job.Reason == "" && `, planner,
	},
	{
		"K1: a request is sent though its reason has gone", "flex/apply/flights.go",
		"return (*f.needed.Load())[node]", "return f.needed.Load() != nil || node == \"\"", passes,
	},
	{
		"J3: any free nodes are taken for a job that asks for switches", "flex/plan/demand/plans.go",
		"if h.chargeOf(j).ByPosition {", "if h.chargeOf(j).ByPosition && first == nil && set == nil {", planner,
	},
	{
		"K3: a job of --gpus waits where its GPUs may be too few", "flex/plan/demand/partitions.go",
		"by.ByHardware && len(h.places(j)) > 1", "by.ByHardware && len(h.places(j)) > 9", planner,
	},
	{
		"K6: a job that has lost its door loses its place in Google's queue", "flex/plan/demand/plans.go",
		"\t\tif fits {\n", "\t\tif fits && false {\n", planner,
	},
	{
		"J5: a rejected access token holds the job", "mig/cause.go",
		"CauseCredentials: BacksOff", "CauseCredentials: Holds",
		[]string{"mig/gce", "flex"},
	},
	{
		"a rejected access token is used again", "mig/gce/auth.go",
		"\tif t.current == l {\n", "\tif false {\n", client,
	},
	{
		"J5: an answer without a named permission holds the job", "mig/gce/classify.go",
		"\t\t\"ermission\", ", "\t\t\"\", ", client,
	},
	{
		"a node with keep_idle is marked to power down with its job", "flex/plan/sweeps/nodes.go",
		"(m.Set.Flex.KeepIdle > 0 || m.Set.Flex.Salvage) && !incomplete[job] || ", "", planner,
	},
	{
		"a job's machines are closed after a loss by one list alone", "flex/plan/demand/survivors.go",
		"m.LostBy == scene.LeaseEnded || !m.IsLost", "m.LostBy == scene.LeaseEnded", planner,
	},
	{
		"a job keeps machines for ever after a loss", "flex/plan/demand/kept.go",
		"\tcase s.IsOld(d.At, limit):", "\tcase false:", planner,
	},
	{
		"a job loses a node before its other machines are closed", "flex/plan/sweeps/losses.go",
		"m.Owner != nil && !s.AreCovered(m.Owner)", "false", planner,
	},
	{
		"a replacement is made in another zone", "flex/plan/demand/survivors.go",
		"\tc.Zones = slices.Compact(zones)\n", "", planner,
	},
	{
		"machines that a job keeps after a loss are powered down when Slurm requeues the job", "flex/plan/sweeps/idle.go",
		" || isOpen(m, sets) || s.IsKept(m)", " || isOpen(m, sets)", planner,
	},
	{
		"a machine is kept until its lease ends", "flex/plan/scene/lease.go",
		"end.Add(-config.UsefulLease)", "end", planner,
	},
	{
		"a static node is never powered up", "flex/plan/sweeps/static.go",
		"if m.Static && m.Power == scene.Off && m.Idle() &&", "if !m.Static && m.Power == scene.Off && m.Idle() &&", planner,
	},
	{
		"the breaker never closes", "flex/plan/scene/boots.go",
		"if b.up.After(b.newest) || ", "if false && ", planner,
	},
	{
		"a boot_timeout of 0 kills every node", "flex/plan/scene/boots.go",
		"case limit > 0 && m.Power == Rising", "case m.Power == Rising", planner,
	},
	{
		"a job with an unread record is returned", "flex/plan/rules/giveup.go",
		"_, read := w.Seen.Records[id]; read {", "_, read := w.Seen.Records[id]; read || true {", planner,
	},
	{
		"a job that Slurm would end is returned", "flex/plan/rules/giveup.go",
		"a.Then != action.Cancel && w.WouldEnd(holders)", "false && w.WouldEnd(holders)", planner,
	},
	{
		"a job that may no longer be requeued loses its nodes", "flex/apply/owner.go",
		"		case a.Door == \"\" && a.Then != action.Cancel && !rec.Requeues():\n", "		case false:\n", passes,
	},
	{
		"a machine that ends before the next job could be done is kept for it", "flex/plan/scene/lease.go",
		"return spent || isTooShort(in, job, job.Start, m.Set.Flex.MaxRunDuration)", "return spent", planner,
	},
	{
		"a machine serves its own job although it can never register", "flex/plan/scene/lease.go",
		"(!spent || j.Start.Before(in.Created.Add(limit)))", "(j.ID == stamp.Job || !spent || j.Start.Before(in.Created.Add(limit)))", planner,
	},
	{
		"a job that got other nodes loses them", "flex/apply/owner.go",
		`if a.Door == "" && !q.has(a.Job, a.Nodes) {`, "if false {", passes,
	},
	{
		"a job keeps waiting with a node that ends before the job could finish", "flex/plan/rules/rules.go",
		"\t{leaseTooShort, Obstructs},\n", "", planner,
	},
	{
		"nodes that stay though all attempts have failed are not armed again", "flex/plan/rules/backoff.go",
		"!stays(w.Scene, c) && !c.StartedAfter(last)", "!w.WouldEnd(c.Holders) && !c.StartedAfter(last)", planner,
	},
	{
		"each bulk insert is one of its own", "mig/gce/occasion.go",
		"case b.Occasion != \"\":", "case false:", client,
	},
	{
		"a machine that a request has just created is taken for lost", "flex/plan/scene/groups.go",
		"r.State == mig.Succeeded && (!of.namesMembers || !s.IsOld(r.Created, lostAfter))", "r.State == mig.Succeeded && !of.namesMembers", planner,
	},
	{
		"a queue in flight is started again", "flex/apply/flights.go",
		"if f.queues[name] != nil || ", "if ",
		[]string{"flex/apply"},
	},
	{
		"a request that could not be made stops other groups", "flex/apply/flights.go",
		"range f.begin(actions) {\n", "range f.begin(actions) {\n		if len(h.Memory.Begin(h.Now(), nil, nil).Refused) != 0 {\n			close(q.ended)\n			continue\n		}\n", passes,
	},
	{
		"a request is made though its group could not be", "flex/plan/action/action.go",
		"\t\tcase CreatePolicy, CreateGroup:\n", "\t\tcase CreatePolicy:\n", passes,
	},
	{
		"of many nodes only the first batch is updated", "slurm/scontrol/update.go",
		"	for _, hostlist := range hostlists {\n", "	for _, hostlist := range hostlists[:min(1, len(hostlists))] {\n", scheduler,
	},
	{
		"a word that is not known in a node's state is dropped", "slurm/state.go",
		"unknown = append(unknown, word)", "_ = word", scheduler,
	},
	{
		"a job with a begin time after 9999 is not read", "slurm/text.go",
		"case err != nil && !farForm.MatchString(value):", "case err != nil:", scheduler,
	},
	{
		"one row that cannot be read stops the pass", "slurm/unread.go",
		"if errors.As(err, &rows) {", "if false {", planner,
	},
	{
		"a job that cannot be read holds no nodes", "flex/plan/scene/unread.go",
		"s.note(name).Doubted = true", "s.note(name).Doubted = false", planner,
	},
	{
		"the end of a lease may be in 9999", "mig/gce/instances.go",
		"if mayEnd(s.Instance, end) {", "if true {", client,
	},
	{
		"a line of an AdminComment passes for a job's record", "slurm/scontrol/jobrecords.go",
		"mark := rand.Text()", `mark := rand.Text()[:0] + "MARK"`, scheduler,
	},
	{
		"a bar among the nodes that a job asks for moves its other fields", "slurm/job.go",
		`var freeColumns = []string{"%u", "%a", "%n", "%x", "%f", "%b", "%r"}`, `var freeColumns = []string{"%b"}`, scheduler,
	},
	{
		"a refused node update starves all others", "flex/apply/hands.go",
		"case h.Now().Sub(began) >= Limit:", "case !began.IsZero():", passes,
	},
	{
		"what Slurm refuses is tried again in each pass", "flex/memory/tries.go",
		"return !failed || age(now, last)", "return true || !failed || age(now, last)", passes,
	},
	{
		"a resume without a daemon powers down all its nodes", "flex/hook/hook.go",
		"h.Slurm.UpdateNodes(ctx, free,", "h.Slurm.UpdateNodes(ctx, called,",
		[]string{"flex/hook"},
	},
	{
		"a resume without a daemon ends a job that Slurm would not requeue", "flex/plan/hook.go",
		"return !requeues[j.ID]", "return false",
		[]string{"flex/hook", "flex/plan"},
	},
	{
		"a node that powers up under a running job is returned", "flex/plan/hook.go",
		"return j.State != slurm.JobConfiguring && j.State != slurm.JobPending", "return false",
		[]string{"flex/plan"},
	},
	{
		"a group that counts machines which no list shows is taken for empty", "flex/plan/sweeps/groups.go",
		"!of.Creates && !of.MayHold", "!of.Creates", planner,
	},
	{
		"a machine that only its group lists is taken for lost", "flex/plan/scene/groups.go",
		"\t\tcase !m.Lost():\n", "\t\tcase false:\n", planner,
	},
	{
		"B2: a record that a list has twice exists twice", "mig/gce/list.go",
		"if i, there := d.at[name]; there {", "if i, there := d.at[name]; false && there {", client,
	},
	{
		"B3: a list with alternating page tokens is read for ever", "mig/gce/list.go",
		"p.given[one.next] = true", "p.given = map[string]bool{one.next: true}", client,
	},
	{
		"B2: the nodes of a group that cannot be read are taken for free", "flex/plan/scene/unread.go",
		"for _, name := range s.concerns(g) {", "for _, name := range s.concerns(g)[:0] {", planner,
	},
	{
		"B2: a machine that cannot be read is deleted", "flex/plan/sweeps/instances.go",
		`case in.Unread != "":`, "case false:", planner,
	},
	{
		"an error in job_submit.lua refuses the job", "flex/setup/lua/job_submit.lua",
		"pcall(judge, job, parts)", "true, judge(job, parts)",
		[]string{"test/tools/lua"},
	},
	{
		"one partition that refuses a job refuses it in all", "flex/setup/lua/job_submit.lua",
		`open and rules.partitions ~= "refuse"`, "false",
		[]string{"test/tools/lua"},
	},
	{
		"an interrupted trial leaves what it has created", "cmd/slurmflex-trial/trial/leave.go",
		"context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)", "context.WithTimeout(ctx, leaveLimit)",
		[]string{"cmd/slurmflex-trial/trial"},
	},
	{
		"a running call of a trial is interrupted", "cmd/slurmflex-trial/trial/trial.go",
		"context.WithTimeout(context.WithoutCancel(ctx), callLimit)", "context.WithTimeout(ctx, callLimit)",
		[]string{"cmd/slurmflex-trial/trial"},
	},
	{
		"a trial's transcript has the text of metadata and labels", "cmd/slurmflex-trial/trial/scrub.go",
		"all = all || slices.Contains(closed, field)", "all = all && slices.Contains(closed, field)",
		[]string{"cmd/slurmflex-trial/trial"},
	},
	{
		"another cluster's groups are taken down too", "flex/takedown/cloud.go",
		"case g.Stamp.Cluster != d.scene.Config.Cluster:", `case g.Stamp.Cluster == "":`,
		[]string{"flex/takedown"},
	},
	{
		"down deletes machines of nodes that are up", "flex/takedown/takedown.go",
		"if n.State.Power() != slurm.Off || n.State.Held() {", "if n.State.Power() == slurm.Unclear {",
		[]string{"flex/takedown"},
	},
	{
		"static nodes that are taken down are powered up again", "flex/takedown/slurm.go",
		"(open[n.Name] || n.Static)", "open[n.Name]",
		[]string{"flex/takedown"},
	},
	{
		"a job waits in a partition that takes others only", "flex/plan/demand/partitions.go",
		` && p.Restricts == ""`, ``, planner,
	},
	{
		"dearer machines are requested at once", "flex/plan/demand/plans.go",
		`&& waited < h.Config.Options.OnDemandAfter`, `&& waited < 0`, planner,
	},
	{
		"machines are requested behind a door that ends", "flex/plan/demand/claims.go",
		`if w.ends[c.Door] != "" {`, "if false {", planner,
	},
	{
		"a second place takes the queue position of a job that gets its door now", "flex/plan/rules/turn.go",
		"(c.Place() == 0 || ", "(true || ", planner,
	},
	{
		"a job keeps two places in one partition", "flex/plan/scene/doors.go",
		"return r.Named && r.at == d.at", "return false", planner,
	},
	{
		"a job uses the first door of its list whatever comes elsewhere", "flex/plan/sweeps/doors.go",
		"return theirs > ours || theirs == ours && r.Place < d.Place", "return ours < 0 || theirs < 0 || r.Place < d.Place", planner,
	},
	{
		"a process that makes a single pass covers nodes", "flex/plan/scene/covered.go",
		"if !s.Seen.Promises || s.Config.Options", "if s.Config.Options", planner,
	},
	{
		"the cover is not raised", "flex/plan/sweeps/doors.go",
		"ends.Sub(now) < memo.CoverGrace-coverRaise", "ends.Sub(now) < 0", planner,
	},
	{
		"a cover from before slurmctld's start is kept", "flex/plan/sweeps/doors.go",
		`|| !all[keep].At.After(s.Seen.SlurmctldSince)`, ``, planner,
	},
	{
		"a node that powers down is open to jobs", "flex/plan/sweeps/doors.go",
		"\t}\n\treturn memo.BusyCover\n", "\t}\n\treturn \"\"\n", planner,
	},
	{
		"a door opens before its last machine is up", "flex/plan/demand/stage.go",
		`case s.StartsLater(d.Job, 0), !areUp(s, s.Together(d)):`, `case s.StartsLater(d.Job, 0):`, planner,
	},
	{
		"a door opens although its machines are still to come", "flex/plan/sweeps/doors.go",
		"start.Before(d.Start) || start.Sub(d.Start) >= pushEvery", "start.Before(d.Start)", planner,
	},
	{
		"a door names its job only after its machines are ready", "flex/plan/sweeps/doors.go",
		"case !d.Named && isBest(s.Scene, d) && !s.Handed.Leaves[d]:", "case !d.Named && stage == demand.DoorReady && isBest(s.Scene, d):", planner,
	},
	{
		"a job that does not start keeps its machines", "flex/plan/demand/stage.go",
		"case d.Opened && d.Named && s.IsOld(lastStart(s, d), lateAfter):", "case d.Opened && d.Named && s.IsOld(d.Start, 1000*lateAfter):", planner,
	},
	{
		"an array on a switch waits until its last task is planned first", "flex/plan/demand/plans.go",
		"without(p.names, without(p.names, h.free[p.set]))", "nil", planner,
	},
	{
		"a job that names more nodes than it needs is planned nowhere", "flex/plan/demand/plans.go",
		" && len(without(nodes, j.Needs)) > 0", "", planner,
	},
	{
		"a job leaves its door for machines on which Slurm does not start it", "flex/plan/demand/handout.go",
		"After(h.Horizon) {\n", "IsZero() {\n", planner,
	},
	{
		"a component is late while machines of another boot", "flex/plan/demand/stage.go",
		"s.IsOld(lastStart(s, d), lateAfter)", "s.IsOld(d.Start, lateAfter)", planner,
	},
	{
		"a door over a static node opens before its machines are up", "flex/plan/sweeps/doors.go",
		" || m.Static || s.Seen.SuspendTime == 0", " || s.Seen.SuspendTime == 0", planner,
	},
	{
		"a stuck job is not reported", "flex/plan/demand/wait.go",
		"now.Sub(w.Since) >= stuckAfter", "now.Sub(w.Since) >= 1000*stuckAfter", planner,
	},
	{
		"a job is held though it may get machines in another place", "flex/plan/rules/rules.go",
		"\tkeepHope(verdicts)\n", "", planner,
	},
	{
		"an estimate counts old waits", "flex/estimate/book.go",
		"waits = waits[:max(newer, min(latestRequests, len(waits)))]", "_ = newer",
		[]string{"flex/estimate"},
	},
	{
		"an estimate forgets that the job has waited", "flex/estimate/book.go",
		"return all[i].took >= waited", "return true",
		[]string{"flex/estimate"},
	},
	{
		"a clock of capacity runs while nothing is requested", "flex/plan/rules/asked.go",
		"\tif !c.Asked.Runs {\n\t\treturn time.Time{}\n\t}\n\treturn w.Seen.Now.Add(-c.Asked.For)\n", "\treturn c.WaitsSince()\n", planner,
	},
	{
		"refusals of earlier passes are forgotten", "flex/memory/memory.go",
		"m.clocks = p.Clocks", "m.clocks = p.Clocks\n\tm.clocks.Asked = nil", passes,
	},
	{
		"a static node is powered down that could not be requested", "flex/plan/sweeps/static.go",
		"&& p.MayAsk(renewal(s.Wanted, m)) {", "{", planner,
	},
	{
		"a script that did not ask is signalled at the end of its lease", "flex/plan/sweeps/leases.go",
		"(!rec.Batch || memo.AsksSignal(rec.Comment))", "(true || memo.AsksSignal(rec.Comment))", planner,
	},
	{
		"a job is ended though its owner cannot read why", "flex/plan/action/action.go",
		"return comments && !requeue.Urgent", "return false && comments && !requeue.Urgent", planner,
	},
	{
		"a job reads why it is requeued afterwards", "flex/plan/sweeps/leases.go",
		"s.notify(a.Job, requeued, \"\")\n\t\t\ts.do(a)\n", "s.do(a)\n\t\t\ts.notify(a.Job, requeued, \"\")\n", planner,
	},
	{
		"a request that is refused is called being made", "flex/plan/report/waits.go",
		"\tnameFailing(w, verdicts)\n", "\t_ = nameFailing\n", planner,
	},
	{
		"a request that is repeated is called being checked", "flex/plan/report/failing.go",
		"v.Do == rules.Requests || v.Do == rules.Waits && v.UnderWay &&", "v.Do == rules.Requests || false &&", passes,
	},
	{
		"what a first look shows is taken for new", "flex/history/news.go",
		"if l.looked[n.Entry.Region] != 0 {", "if true {", history,
	},
	{
		"an uncertain loss counts although one list may be wrong", "flex/metrics/events.go",
		"if loss.Certain && !e.lost[name] {", "if !e.lost[name] {", history,
	},
	{
		"a busy daemon lets no other process act", "flex/run.go",
		"case !t.lock.Awaited() ||", "case true ||", passes,
	},
	{
		"a bulk insert is repeated although its machines may not be listed yet", "mig/gce/occasion.go",
		"ended = ended.Add(madeBefore)", "", client,
	},
	{
		"a bulk insert repeats a failed operation", "mig/gce/occasion.go",
		"!isPast(op, before) {", "!isPast(op, before) || true {", client,
	},
	{
		"a machine that its group denies is deleted in every pass", "flex/plan/sweeps/instances.go",
		"case in.Outsider:", "case false:", planner,
	},
	{
		"a job that did not start gets the next door at once", "flex/plan/demand/plans.go",
		`!h.StartsLater(j, ahead) && !isLate(h.Scene, j)`, `!h.StartsLater(j, ahead)`, planner,
	},
	{
		"limits count in a job's first place only", "flex/plan/demand/further.go",
		` || h.limits.obstacleElsewhere(j, doors[0], set) != ""`, ``, planner,
	},
	{
		"a waiting door in a closed partition stays", "flex/plan/demand/stage.go",
		"case !d.Opened && isClosed(", "case false && isClosed(", planner,
	},
	{
		"an unread region opens a door over kept machines", "flex/plan/sweeps/doors.go",
		"if mayHaveSurvivors(s, d) {", "if len(s.Survivors(d)) > 0 {", planner,
	},
	{
		"free nodes are not kept for a job that needs more", "flex/plan/demand/precedence.go",
		"\t\t\th.short[set] = j\n", ``, planner,
	},
	{
		"an array with an unread throttle counts as unlimited", "flex/observe/throttles.go",
		"most = leastThrottle", "most = 0",
		[]string{"flex/observe"},
	},
	{
		"a task that waits for something else is judged by its array's row", "flex/observe/slurm.go",
		"addresses := o.hiddenTasks(snap.Jobs)", "var addresses []string",
		[]string{"flex", "flex/observe"},
	},
	{
		"machines are requested for a job that uses no door", "flex/plan/rules/door.go",
		"case !d.Named && ", "case false && !d.Named && ", planner,
	},
	{
		"machines are requested before Slurm has looked at the job again", "flex/plan/rules/door.go",
		"case d.Job.Reason == \"None\" && ", "case false && ", planner,
	},
	{
		"a job whose reservation is refused keeps it", "flex/plan/demand/stage.go",
		"case lateOf(s, d.Job).Unusable && ", "case false && ", planner,
	},
	{
		"refusals of a reservation's use are not counted", "flex/apply/reservation.go",
		"late.Unusable = true; !a.Leave {", "late.Unusable = true; false {",
		[]string{"flex/apply"},
	},
	{
		"refusals of a reservation's use count for each reservation alone", "flex/memory/tries.go",
		"what = fmt.Sprintf(\"%s %t\", a.Address, a.Leave)", "_ = a",
		[]string{"flex/apply"},
	},
	{
		"a request whose reason has gone is sent", "flex/apply/hands.go",
		"return h.needs != nil && ", "return false && ", passes,
	},
	{
		"a plan for a later time gets machines", "flex/plan/demand/plans.go",
		`if h.isLater(j) && !j.IsTasks() || len(p.names) == 0 {`, `if len(p.names) == 0 {`, planner,
	},
	{
		"a further place is asked for where the job may not fit", "flex/plan/demand/plans.go",
		`j.SurelyFits(*m.Node) && h.isPlannable`, `h.isPlannable`, planner,
	},
	{
		"a GPU of another type fits a job", "slurm/fit.go",
		`(wants.Type == "" || g.Type == wants.Type)`, `(true || g.Type == wants.Type)`, scheduler,
	},
	{
		"a job gets other nodes than Slurm has planned", "flex/plan/demand/plans.go",
		`h.fitting(p.set, j, p.names)`, `h.fitting(p.set, j, nil)`, planner,
	},
	{
		"a job with more nodes than it needs leaves its door", "flex/plan/scene/doors.go",
		`d.Job.NodeCount > len(d.Nodes)`, `d.Job.NodeCount != len(d.Nodes)`, planner,
	},
	{
		"no job may start on idle machines", "flex/plan/sweeps/doors.go",
		"\t\treturn memo.WarmCover\n", "\t\treturn memo.BusyCover\n", planner,
	},
	{
		"a limit does not count what live requests may take", "flex/plan/demand/budgets.go",
		"append(usesOfMachines(s.Recalled), usesOfNodes(s, asked)...)", "usesOfMachines(s.Recalled)", planner,
	},
	{
		"a limit does not count what machines may still take", "flex/plan/demand/budgets.go",
		"append(usesOfMachines(s.Recalled), usesOfNodes(s, asked)...)", "usesOfNodes(s, asked)", planner,
	},
	{
		"a limit forgets the machines of an unread region", "flex/plan/demand/budgets.go",
		"usesOfMachines(s.Recalled)", "usesOfMachines(s)", planner,
	},
	{
		"a limit does not count the requests of the same pass", "flex/plan/rules/turn.go",
		"\t\t\tt.Budgets.Take(t.Scene, v.Claim)\n", "", planner,
	},
	{
		"a request that just reaches a limit waits", "flex/plan/demand/budgets.go",
		"then.Whole > then.Most+rounding", "then.Whole >= then.Most", planner,
	},
	{
		"a job that a limit holds back keeps its nodes from others", "flex/plan/demand/handout.go",
		"case h.rests(j):", "case false:", planner,
	},
	{
		"a job that Slurm has just not planned gets nodes that it has not planned", "flex/plan/demand/plans.go",
		"case why != \"\" || h.isOverdue(j):", "default:", planner,
	},
	{
		"a limit forgets the doors that have no request yet", "flex/plan/demand/budgets.go",
		"m.Door != nil && m.Door.Taker != nil", "false", planner,
	},
	{
		"a limit of another account holds a job back", "flex/plan/demand/budgets.go",
		"return j.Account == u.Account", "return true", planner,
	},
	{
		"a limit counts a lease twice, in the history and as a machine", "flex/plan/demand/budgets.go",
		"scene.Later(in.Created, s.Seen.Spent.Counted[scene.LeaseOf(in.Zone, in.Name, in.Created)])", "in.Created", planner,
	},
	{
		"a limit counts what a machine takes in the next period", "flex/plan/demand/budgets.go",
		"if until.After(u.To) {", "if false {", planner,
	},
	{
		"an unread history holds jobs back", "flex/plan/rules/overlimit.go",
		`why != "" {`, `why != "" || w.Seen.Spent.Err != nil {`, planner,
	},
	{
		"a history whose folder is missing counts as empty", "flex/cost/ledger.go",
		"\tif err == nil {\n\t\t_, err = history.Read(", "\t{\n\t\t_, err = history.Read(",
		[]string{"flex/cost"},
	},
	{
		"a daemon that takes over counts its old reading of the history", "flex/cost/ledger.go",
		"age <= staleAfter*share", "age >= 0",
		[]string{"flex/cost"},
	},
	{
		"keep_idle keeps a machine that failed its check", "flex/plan/scene/health.go",
		"len(m.Holders) == 0 || ", "", planner,
	},
	{
		"a job keeps a machine that failed its check after a loss", "flex/plan/demand/handout.go",
		"slurm.NotResponding | slurm.Drain |", "slurm.NotResponding |", planner,
	},
	{
		"a machine that fails its check is taken from its running job", "flex/plan/scene/health.go",
		"!waits || m.State.Held() || ", "!waits && false || ", planner,
	},
	{
		"a door opens before the check has passed", "slurm/state.go",
		"(NotResponding|Drain|PowerDown)", "(NotResponding|PowerDown)", planner,
	},
	{
		"a check without a result keeps the door closed for ever", "flex/plan/scene/health.go",
		"!m.LastBusyTime.IsZero() && s.IsOld(", "false && s.IsOld(", planner,
	},
	{
		"a door ends because its machine is being checked", "flex/plan/demand/stage.go",
		" && !m.IsChecked:", ":", planner,
	},
	{
		"an admin's drain is taken for a failed check", "flex/plan/memo/memo.go",
		`	return "", false` + "\n}\n\n// Boots", "\treturn text, true\n}\n\n// Boots", planner,
	},
	{
		"machines that fail their check again and again block no nodeset", "flex/plan/scene/boots.go",
		`case m.Unhealthy != "" && `, "case false && ", planner,
	},
	{
		"a node that a check has drained stays drained without its machine", "flex/plan/sweeps/nodes.go",
		"case !m.IsDrainedInVain:", "case true:", planner,
	},
	{
		"the host of a machine that failed its check is not remembered", "flex/memory/memory.go",
		`if in.Host != "" && `, "if false && in.Host != \"\" && ",
		[]string{"flex/memory"},
	},
	{
		"a restart forgets the hosts of machines that failed their check", "flex/memory/memory.go",
		"if recorded != nil {", "if false {",
		[]string{"flex/memory"},
	},
	{
		"the history does not show whose check failed", "flex/history/leases.go",
		"cmp.Or(o.Unhealthy, in.Node.Unhealthy)", "o.Unhealthy", history,
	},
	{
		"the machine that failed is named as on the host of another", "flex/plan/scene/health.go",
		" && in.Created.After(earlier.At)", "", planner,
	},
}
