"""What Compute refuses: each call here must be refused, with the right status and reason, in Google's form."""

from bodies import PROJECT, REGION, ZONE, bulk, group, request, template
from client import refusal
from life import REGIONAL, ZONAL, Life

T = f"projects/{PROJECT}/regions/{REGION}/instanceTemplates/a3"
M = {"instanceGroupManager": "m", **REGIONAL}


class Refusals(Life):
    def walk(self):
        self.report.attempt("a world to refuse in", self.world)
        for table in (
            self.resources, self.group_bodies, self.request_calls, self.member_calls, self.bulk_calls, self.lists, self.later, self.quotas,
            self.stocks,
        ):  # fmt: skip
            self.report.attempt("refusals of " + table.__name__.replace("_", " "), table)

    def world(self):
        self.done(self.api.regionInstanceTemplates().insert(body=template("a3"), **REGIONAL).execute())
        self.done(self.api.resourcePolicies().insert(body={"name": "p", "workloadPolicy": {"type": "HIGH_THROUGHPUT"}}, **REGIONAL).execute())
        self.done(self.groups.insert(body=group("m", T), **REGIONAL).execute())
        near = f"projects/{PROJECT}/regions/{REGION}/resourcePolicies/p"
        self.done(self.groups.insert(body=group("near", T, resourcePolicies={"workloadPolicy": near}), **REGIONAL).execute())
        self.done(self.requests.insert(body=request("got", "n0"), **M).execute())
        self.fake.advance("20s")
        self.fake.tell("capacity", zone="", machineType="", count=0)
        self.done(self.requests.insert(body=request("waits", "n1"), **M).execute())

    def refused(self, what, call, status, reason, part=""):
        got = refusal(call)
        self.expect(got[:2], (status, reason), f"{what} ({got[2]})")
        if part not in got[2]:
            self.report.deviation(f"{what}: {got[2]!r} does not say {part!r}")

    def resources(self):
        api, policies, templates = self.api, self.api.resourcePolicies(), self.api.regionInstanceTemplates()
        for what, call in (
            ("a group", self.groups.get(instanceGroupManager="none", **REGIONAL)),
            ("a request", self.requests.delete(resizeRequest="none", **M)),
            ("a template", templates.get(instanceTemplate="none", **REGIONAL)),
            ("a policy", policies.delete(resourcePolicy="none", **REGIONAL)),
            ("a machine", api.instances().delete(instance="none", **ZONAL)),
            ("an operation", api.regionOperations().get(operation="operation-none", **REGIONAL)),
            ("a machine type", api.machineTypes().get(machineType="none", **ZONAL)),
            ("a project", api.zones().get(project="another", zone=ZONE)),
        ):
            self.refused(what + " that is not there", call, 404, "notFound", "was not found")
        self.refused("an unknown zone", api.zones().get(project=PROJECT, zone="us-central1-z"), 400, "invalid")
        self.refused("an unknown region", api.regions().get(project=PROJECT, region="mars-north1"), 400, "invalid")
        self.refused("a second template", templates.insert(body=template("a3"), **REGIONAL), 409, "alreadyExists")
        self.refused("a second policy", policies.insert(body={"name": "p", "workloadPolicy": {"type": "HIGH_THROUGHPUT"}}, **REGIONAL), 409, "alreadyExists")
        self.refused("a policy of another kind", policies.insert(body={"name": "q", "groupPlacementPolicy": {}}, **REGIONAL), 501, "notImplemented")
        self.refused("a policy of an unknown type", policies.insert(body={"name": "q", "workloadPolicy": {"type": "NEAR"}}, **REGIONAL), 400, "invalid")
        for what, body, reason in (
            ("without a name", template(""), "required"),
            ("with a wrong name", template("A3"), "invalid"),
            ("with an unknown model", template("t", provisioningModel="FLEX"), "invalid"),
            ("with an unknown action", template("t", instanceTerminationAction="KILL"), "invalid"),
            ("with a number for a word", template("t", onHostMaintenance=1), "badRequest"),
            ("with an unknown field", template("t", flexStart=True), "badRequest"),
            ("with a text for a number", template("t", maxRunDuration={"seconds": "an hour"}), "badRequest"),
            ("with a text for a boolean", template("t", automaticRestart="no"), "badRequest"),
        ):
            self.refused("a template " + what, templates.insert(body=body, **REGIONAL), 400, reason)
        for what, change in (
            ("without disks", {"disks": []}),
            ("without networks", {"networkInterfaces": []}),
            ("with a label in capitals", {"labels": {"Owner": "me"}}),
            ("with a label's value in capitals", {"labels": {"owner": "Me"}}),
            ("with a label's value too long", {"labels": {"owner": "m" * 64}}),
            ("with a label too many", {"labels": {f"l{i}": "" for i in range(65)}}),
            ("with a negative duration", {"scheduling": {"maxRunDuration": {"seconds": "-1"}}}),
            ("with too short a run", {"scheduling": {"maxRunDuration": {"seconds": "29"}}}),
            ("with too long a run", {"scheduling": {"maxRunDuration": {"seconds": str(120 * 86400 + 1)}}}),
            ("with too many nanos", {"scheduling": {"maxRunDuration": {"seconds": "600", "nanos": 1000000000}}}),
            ("with a disk of an unknown mode", {"disks": [{"mode": "READ"}]}),
        ):
            body = template("t")
            body["properties"] |= change
            self.refused("a template " + what, templates.insert(body=body, **REGIONAL), 400, "invalid")
        self.refused("a template without a machine type", templates.insert(body={"name": "t", "properties": {}}, **REGIONAL), 400, "required")
        self.refused("a policy in use", policies.delete(resourcePolicy="p", **REGIONAL), 400, "resourceInUseByAnotherResource", "GroupManagers/near")
        for what, body, reason in (
            ("without a type", {"workloadPolicy": {"maxTopologyDistance": "BLOCK"}}, "required"),
            ("of an unknown distance", {"workloadPolicy": {"type": "HIGH_THROUGHPUT", "maxTopologyDistance": "MILE"}}, "invalid"),
        ):
            self.refused("a policy " + what, policies.insert(body={"name": "q"} | body, **REGIONAL), 400, reason)

    def group_bodies(self):
        def one(**others):
            return self.groups.insert(body=group("g", T, **others), **REGIONAL)

        self.refused("a second group", self.groups.insert(body=group("m", T), **REGIONAL), 409, "alreadyExists")
        self.refused("a group without its template", one(versions=[{"instanceTemplate": T + "x"}]), 404, "notFound")
        body = group("g", T)
        del body["versions"]
        self.refused("a group without a template", self.groups.insert(body=body, **REGIONAL), 400, "required")
        for what, call in (
            ("a wrong name", self.groups.insert(body=group("G", T), **REGIONAL)),
            ("a long base name", one(baseInstanceName="b" * 59)),
            ("a zone of another region", self.groups.insert(body=group("g", T, zones=["europe-west4-a"]), **REGIONAL)),
            ("an unknown shape", one(distributionPolicy={"targetShape": "LINE"})),
            ("an unknown update type", one(updatePolicy={"type": "NEVER"})),
            ("unknown repairs", one(instanceLifecyclePolicy={"defaultActionOnFailure": "PRAY"})),
            ("instances from the start", one(targetSize=1)),
            ("a negative size", one(targetSize=-1)),
            ("a hyphen at its base name's end", one(baseInstanceName="x-")),
            ("two versions", one(versions=[{}, {}])),
            ("a wrong requestId", self.groups.insert(body=group("g", T), requestId="1", **REGIONAL)),
            ("a template of another region", self.groups.insert(body=group("g", T, zones=["europe-west4-a"]), project=PROJECT, region="europe-west4")),
        ):
            self.refused("a group with " + what, call, 400, "invalid")
        self.refused("a group with an unknown policy", one(resourcePolicies={"workloadPolicy": f"regions/{REGION}/resourcePolicies/x"}), 404, "notFound")
        self.refused("a group of an unknown size", one(targetSize=None), 400, "required")
        for what, call in (
            ("a group in bulk mode", one(targetSizePolicy={"mode": "BULK"})),
            ("a group that lists its machines by pages", one(listManagedInstancesResults="PAGINATED")),
            ("a group that numbers its machines", one(baseInstanceName="x-##")),
            ("a zonal group", self.api.instanceGroupManagers().insert(body=group("g", T), **ZONAL)),
            ("a change of a group", self.groups.patch(body={}, **M)),
            ("one machine", self.api.instances().get(instance="n0", **ZONAL)),
            ("either of two machines", self.api.instances().list(filter="name=n0 OR name=n1", **ZONAL)),
        ):
            self.refused(what, call, 501, "notImplemented")

    def request_calls(self):
        def one(*names, **others):
            return self.requests.insert(body=request(others.pop("name", "r"), *names, **others), **M)

        self.refused("a second request of a name", one("n2", name="waits"), 409, "alreadyExists")
        for what, call in (("no names", one(resizeBy=1)), ("names and a number", one("n2", resizeBy=1))):
            self.refused("a request with " + what, call, 501, "notImplemented")
        for what, call in (
            ("negative nanos", one("n2", requestedRunDuration={"seconds": "600", "nanos": -1})),
            ("half a second", one("n2", requestedRunDuration={"seconds": "600", "nanos": 500000000})),
            ("a name twice", one("n2", "n2")),
            ("a wrong name", one("N2")),
            ("a name that is taken", one("n0")),
        ):
            self.refused("a request with " + what, call, 400, "invalid")
        self.refused("a request in a missing group", self.requests.insert(body=request("r", "n"), instanceGroupManager="x", **REGIONAL), 404, "notFound")
        fresh = self.requests.insert(body=request("fresh", "n3"), **M).execute()
        self.refused("a cancelled beginning", self.requests.cancel(resizeRequest="fresh", **M), 412, "conditionNotMet", "only in the accepted state")
        self.done(fresh)
        self.refused("a cancel of no request", self.requests.cancel(resizeRequest="none", **M), 404, "notFound", "resizeRequests/none' was not found")
        self.refused("a cancelled success", self.requests.cancel(resizeRequest="got", **M), 412, "conditionNotMet", "final state")
        self.refused("a deleted wait", self.requests.delete(resizeRequest="waits", **M), 412, "conditionNotMet", "final state")

    def member_calls(self):
        here = f"projects/{PROJECT}/zones/{ZONE}/instances/"
        for what, names, status, reason in (
            ("no machine", [], 400, "required"),
            ("a machine that waits", [here + "n1"], 412, "conditionNotMet"),
            ("too many", [here + f"x{i}" for i in range(1001)], 400, "invalid"),
        ):
            self.refused("to delete " + what, self.groups.deleteInstances(body={"instances": names}, **M), status, reason)

    def bulk_calls(self):
        instances = self.api.instances()
        for what, body, status, reason in (
            ("none", bulk(T), 400, "invalid"),
            ("more than it may", bulk(T) | {"count": "5001"}, 400, "invalid"),
            ("fewer names than machines", bulk(T, "a") | {"count": "2"}, 400, "invalid"),
            ("more names than machines", bulk(T, "a", "b") | {"count": "1"}, 400, "invalid"),
            ("a larger minimum", bulk(T, "a", minCount="2"), 400, "invalid"),
            ("an unknown template", bulk(T + "x", "a"), 404, "notFound"),
            ("an unknown machine type", bulk(T, "a", instanceProperties={"machineType": "z9"}), 400, "invalid"),
            ("a short run", bulk(T, "a", instanceProperties={"scheduling": {"maxRunDuration": {"seconds": "599"}}}), 400, "invalid"),
            ("no run at all", bulk(T, "a", instanceProperties={"scheduling": {"maxRunDuration": {"seconds": "0"}}}), 400, "invalid"),
            ("a machine without GPUs", bulk(T, "a", instanceProperties={"machineType": "n2-standard-2"}), 400, "invalid"),
            ("a machine that flex-start has not", bulk(T, "a", instanceProperties={"machineType": "a4x-highgpu-4g"}), 400, "invalid"),
            ("unknown GPUs", bulk(T, "a", instanceProperties={"guestAccelerators": [{"acceleratorType": "bogus"}]}), 400, "invalid"),
            ("a count of none", bulk(T, "a") | {"count": None}, 400, "invalid"),
            ("a pattern for names", bulk(T) | {"count": "1", "namePattern": "n-#"}, 501, "notImplemented"),
            ("GPUs that its machine cannot have", bulk(T, "a", instanceProperties={"guestAccelerators": [{"acceleratorType": "nvidia-l4"}]}), 400, "invalid"),
            ("no disks", bulk(T, "a", instanceProperties={"disks": []}), 400, "invalid"),
            ("a policy", bulk(T, "a", instanceProperties={"resourcePolicies": [f"regions/{REGION}/resourcePolicies/p"]}), 400, "invalid"),
            ("no machine type", {"count": "1", "perInstanceProperties": {"a": {}}}, 400, "required"),
        ):
            self.refused("bulkInsert with " + what, instances.bulkInsert(body=body, **ZONAL), status, reason)

        balanced = bulk(T, "a", locationPolicy={"targetShape": "BALANCED"})
        self.refused("bulkInsert over several zones", self.api.regionInstances().bulkInsert(body=balanced, **REGIONAL), 501, "notImplemented", "BALANCED")
        for what, scheduling in (
            ("as it should be", {}),
            ("without a lease", {"maxRunDuration": None}),
            ("with too short a lease", {"maxRunDuration": {"seconds": "599"}}),
            ("with too long a lease", {"maxRunDuration": {"seconds": "604801"}}),
            ("with a stop at its end", {"instanceTerminationAction": "STOP"}),
            ("with a migration", {"onHostMaintenance": "MIGRATE"}),
        ):
            properties = template("t", "h4d-standard-192", **scheduling)["properties"]
            body = {"count": "1", "perInstanceProperties": {"h0": {}}, "instanceProperties": properties}
            call = instances.bulkInsert(body=body, **ZONAL)
            self.refused("a flex-start machine " + what, call, *((400, "invalid") if scheduling else (200, "")))

    def lists(self):
        instances = self.api.instances()
        for what, query, reason in (
            ("an unknown field", {"filter": "nme=x"}, "invalid"),
            ("another's page", {"pageToken": "AAAA"}, "invalid"),
            ("pages that are too large", {"maxResults": 501}, "invalid"),
            ("unknown fields", {"fields": "items(nme)"}, "invalidParameter"),
            ("half of fields", {"fields": "items(name"}, "invalidParameter"),
        ):
            self.refused("a list with " + what, instances.list(**query, **ZONAL), 400, reason)

    def quotas(self):
        for metric, limit, reason in (
            ("REGIONAL_INSTANCE_GROUP_MANAGERS", 1, "quotaExceeded"),
            ("INSTANCE_GROUPS", 1, "quotaExceeded"),
            ("CONCURRENT_OPERATIONS", 0, "rateLimitExceeded"),
        ):
            self.fake.tell("quota", region=REGION, metric=metric, limit=limit)
            self.refused("a group beyond " + metric, self.groups.insert(body=group("g", T), **REGIONAL), 403, reason)
            self.fake.tell("quota", region=REGION, metric=metric, limit=-1)
        self.fake.tell("quota", region="", metric="CONCURRENT_OPERATIONS", limit=0)
        beyond = self.api.instanceTemplates().insert(body=template("t"), project=PROJECT)
        self.refused("a global template beyond CONCURRENT_OPERATIONS", beyond, 403, "rateLimitExceeded")
        self.fake.tell("quota", region="", metric="CONCURRENT_OPERATIONS", limit=-1)
        said = self.fake.refuses("quota", region=REGION, metric="CPUS", limit=1)
        self.expect("unknown metric" in said, True, f"an unknown metric ({said})")

    def codes(self, operation):
        """The codes of the errors that a new operation ends with."""
        self.fake.advance("2s")
        operations, at = (self.api.zoneOperations(), ZONAL) if "zone" in operation else (self.api.regionOperations(), REGIONAL)
        operation = operations.get(operation=operation["name"], **at).execute()
        return [e["code"] for e in operation.get("error", {}).get("errors", [])]

    def requested(self, name, body, change, **others):
        """The codes that a request ends with in a group of its own, which has this template."""
        self.done(self.api.regionInstanceTemplates().insert(body=body, **REGIONAL).execute())
        self.done(self.groups.insert(body=group(name, T.replace("/a3", "/" + name), **others), **REGIONAL).execute())
        return self.codes(self.requests.insert(body=request("r", name + "-0", **change), instanceGroupManager=name, **REGIONAL).execute())

    def stocks(self):
        """What there is nothing of."""
        self.fake.tell("capacity", zone="", machineType="", count=-1)
        insert = self.api.instances().bulkInsert
        for metric in ("INSTANCES", "PREEMPTIBLE_NVIDIA_H100_GPUS"):
            self.fake.tell("quota", region=REGION, metric=metric, limit=1)
            self.expect(self.codes(insert(body=bulk(T, "q"), **ZONAL).execute()), ["QUOTA_EXCEEDED"], "a machine beyond " + metric)
            self.fake.tell("quota", region=REGION, metric=metric, limit=-1)
        self.fake.tell("zones", zone=ZONE, up=False)
        self.expect(self.api.zones().get(**ZONAL).execute()["status"], "DOWN", "the zone")
        got = self.codes(insert(body=bulk(T, "q"), **ZONAL).execute())
        self.expect(got, ["ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"], "a machine in a zone that is down")
        self.fake.tell("zones", zone=ZONE, up=True)
        self.fake.tell("withdraw", zone=ZONE, machineType="g2-standard-4")
        self.refused("a type that the zone has not", self.api.machineTypes().get(machineType="g2-standard-4", **ZONAL), 404, "notFound")
        other = bulk(T, "q", instanceProperties={"machineType": "g2-standard-4"})
        self.refused("a machine that the zone has not", insert(body=other, **ZONAL), 400, "invalid", "does not exist")
        got = self.requested("gone", template("gone", "g2-standard-4"), {}, zones=[ZONE])
        self.expect(got, ["INVALID_MACHINE_TYPE"], "a request for a machine that the zone has not")

    def later(self):
        """What is refused by the end of the request's operation."""
        for what, machine, scheduling, change, code in (
            ("a short run", "a3-highgpu-8g", {}, {"seconds": 599}, "INVALID_ARGUMENT"),
            ("no run", "a3-highgpu-8g", {}, {"seconds": 0}, "INVALID_ARGUMENT"),
            ("a long run", "a3-highgpu-8g", {}, {"seconds": 604801}, "INVALID_ARGUMENT"),
            ("a standard machine", "a3-highgpu-8g", {"provisioningModel": "STANDARD"}, {}, "INVALID_ARGUMENT"),
            ("a machine that stops", "a3-highgpu-8g", {"instanceTerminationAction": "STOP"}, {}, "INVALID_ARGUMENT"),
            ("a machine that migrates", "a3-highgpu-8g", {"onHostMaintenance": "MIGRATE"}, {}, "INVALID_ARGUMENT"),
            ("a machine without a lease", "a3-highgpu-8g", {"maxRunDuration": None}, {}, "INVALID_ARGUMENT"),
            ("a machine that flex-start has not", "a4x-highgpu-4g", {}, {}, "UNSUPPORTED_OPERATION"),
            ("a machine without GPUs", "n2-standard-2", {}, {}, "UNSUPPORTED_OPERATION"),
            ("an unknown machine type", "z9-mega", {}, {}, "INVALID_MACHINE_TYPE"),
        ):
            name = what.replace(" ", "-").lower()
            self.expect(self.requested(name, template(name, machine, **scheduling), change), [code], f"a request for {what}")
        self.expect(self.requested("h4d", template("h4d", "h4d-standard-192"), {}), [], "a request for a machine without GPUs that flex-start has")
        for what, change, code in (
            ("reserved", {"reservationAffinity": None}, "INVALID_ARGUMENT"),
            ("placed", {"resourcePolicies": ["compact"]}, "UNSUPPORTED_OPERATION"),
            ("odd", {"guestAccelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 1}]}, "INVALID_GPU_TYPE"),
        ):
            body = template(what)
            body["properties"] |= change
            self.expect(self.requested(what, body, {}), [code], f"a request of a template that is {what}")
        for what, others in (
            ("even", {"distributionPolicy": {"targetShape": "EVEN"}}),
            ("flexible", {"instanceFlexibilityPolicy": {}}),
            ("redistributing", {"updatePolicy": {"type": "OPPORTUNISTIC"}}),
            ("rolling", {"updatePolicy": {"type": "PROACTIVE", "instanceRedistributionType": "NONE"}}),
        ):
            self.expect(self.requested(what, template(what), {}, **others), ["UNSUPPORTED_OPERATION"], f"a request in a group that is {what}")
        body = group("z", T, instanceLifecyclePolicy={"defaultActionOnFailure": "REPAIR"})
        at = {"instanceGroupManager": "z", **REGIONAL}
        self.done(self.groups.insert(body=body, **REGIONAL).execute())
        self.requests.insert(body=request("r", "z0"), **at).execute()
        self.fake.advance("2s")
        failed = self.request("r", "z")
        self.expect((failed["state"], failed["status"]["error"]["errors"][0]["code"]), ("FAILED", "UNSUPPORTED_OPERATION"), "a group with repairs")
