"""A whole life: everything is made, watched, changed and deleted, by each method that the fake has."""

from bodies import PROJECT, REGION, ZONE, bulk, group, request, template

REGIONAL = {"project": PROJECT, "region": REGION}
ZONAL = {"project": PROJECT, "zone": ZONE}


class Life:
    def __init__(self, api, fake, report):
        self.api, self.fake, self.report = api, fake, report
        self.groups = api.regionInstanceGroupManagers()
        self.requests = api.regionInstanceGroupManagerResizeRequests()

    def walk(self):
        for step in (
            self.places, self.policies, self.templates, self.group, self.waiting_request,
            self.granted_request, self.instances, self.members, self.shrinking,
            self.bulk, self.preemption, self.maintenance, self.unreachable, self.operations, self.ends,
        ):  # fmt: skip
            self.report.attempt(step.__name__.replace("_", " "), step)

    def expect(self, got, want, what):
        self.report.expect(got, want, what)

    def done(self, operation, **at):
        """The operation once it is done, watched from its beginning."""
        self.expect(operation["status"], "RUNNING", "a new operation's status")
        self.fake.advance("2s")
        if "region" in operation:
            operations, at = self.api.regionOperations(), REGIONAL
        elif "zone" in operation:
            operations, at = self.api.zoneOperations(), {"project": PROJECT, "zone": operation["zone"].split("/")[-1]}
        else:
            operations, at = self.api.globalOperations(), {"project": PROJECT}
        operation = operations.get(operation=operation["name"], **at).execute()
        if operation["status"] != "DONE" or "error" in operation:
            self.report.deviation(f"operation {operation['operationType']}: {operation['status']} {operation.get('error')}")
        return operations.wait(operation=operation["name"], **at).execute()

    def names(self, answer, key="items"):
        return sorted(item["name"] for item in answer.get(key, []))

    def all_names(self, resource, call):
        """The names in all pages of a list."""
        names = []
        while call is not None:
            answer = call.execute()
            names += [item["name"] for item in answer.get("items", [])]
            call = resource.list_next(call, answer)
        return names

    def machines(self, **query):
        """The names of the zone's machines."""
        instances = self.api.instances()
        return self.all_names(instances, instances.list(**query, **ZONAL))

    def request(self, name, group="m"):
        """A resize request as the list of its group shows it."""
        listed = self.requests.list(instanceGroupManager=group, filter=f"name={name}", **REGIONAL).execute()
        return listed["items"][0]

    def machine(self, name):
        """A machine as the list of its zone shows it."""
        return self.api.instances().list(filter=f"name={name}", **ZONAL).execute()["items"][0]

    def places(self):
        api = self.api
        region = api.regions().get(**REGIONAL).execute()
        self.expect(all(q["limit"] > 0 for q in region["quotas"]), True, "quotas have limits")
        self.expect(api.zones().get(**ZONAL).execute()["status"], "UP", "the zone")
        self.expect(api.machineTypes().get(machineType="a3-highgpu-8g", **ZONAL).execute()["guestCpus"], 208, "CPUs")

    def policies(self):
        policies = self.api.resourcePolicies()
        self.done(policies.insert(body={"name": "near", "workloadPolicy": {"type": "HIGH_THROUGHPUT"}}, **REGIONAL).execute())
        listed = policies.list(**REGIONAL).execute()["items"]
        self.expect([(p["name"], p["status"]) for p in listed], [("near", "READY")], "policies")

    def templates(self):
        regional, everywhere = self.api.regionInstanceTemplates(), self.api.instanceTemplates()
        self.done(regional.insert(body=template("a3"), **REGIONAL).execute())
        self.done(everywhere.insert(body=template("g2", "g2-standard-4"), project=PROJECT).execute())
        got = regional.get(instanceTemplate="a3", **REGIONAL).execute()
        self.expect(got["properties"]["scheduling"]["provisioningModel"], "FLEX_START", "the template's model")
        self.expect(everywhere.get(instanceTemplate="g2", project=PROJECT).execute()["name"], "g2", "the global template")

    def group(self):
        policy = f"projects/{PROJECT}/regions/{REGION}/resourcePolicies/near"
        body = group("m", f"projects/{PROJECT}/regions/{REGION}/instanceTemplates/a3", resourcePolicies={"workloadPolicy": policy})
        self.done(self.groups.insert(body=body, requestId="0b8f4f0e-5a0c-4d3b-9a51-0e6a7ad9b0f1", **REGIONAL).execute())
        got = self.groups.get(instanceGroupManager="m", **REGIONAL).execute()
        self.expect((got["targetSize"], got["status"]["isStable"]), (0, True), "a new group")
        again = self.groups.insert(body=body, requestId="0b8f4f0e-5a0c-4d3b-9a51-0e6a7ad9b0f1", **REGIONAL).execute()
        self.expect(again["status"], "DONE", "the operation of a repeated requestId")
        self.expect(self.names(self.groups.list(filter="name eq m", **REGIONAL).execute()), ["m"], "groups")

    def waiting_request(self):
        at = {"instanceGroupManager": "m", **REGIONAL}
        self.fake.tell("capacity", zone="", machineType="", count=0)
        self.done(self.requests.insert(body=request("waits", "n0", "n1"), **at).execute())
        got = self.request("waits")
        self.expect((got["state"], got["resizeBy"]), ("ACCEPTED", 2), "a request without capacity")
        self.expect("lastAttempt" in got["status"], True, "its last attempt is shown")
        for filter in ("state=ACCEPTED", "state eq ACCEPTED", 'state eq "ACC.*"'):
            self.expect(self.names(self.requests.list(filter=filter, **at).execute()), ["waits"], f"requests with {filter}")
        members = self.groups.listManagedInstances(**at).execute()["managedInstances"]
        self.expect([m["currentAction"] for m in members], ["CREATING"] * 2, "the actions of its members")
        self.done(self.requests.cancel(resizeRequest="waits", **at).execute())
        self.expect(self.request("waits")["state"], "CANCELLED", "the cancelled request")
        self.done(self.requests.delete(resizeRequest="waits", **at).execute())
        self.expect(self.names(self.requests.list(**at).execute()), [], "requests after the deletion")

    def granted_request(self):
        at = {"instanceGroupManager": "m", **REGIONAL}
        self.fake.tell("capacity", zone="", machineType="", count=-1)
        names = [f"n{i}" for i in range(5)]
        self.done(self.requests.insert(body=request("got", *names), **at).execute())
        self.fake.advance("20s")
        self.expect(self.request("got")["state"], "SUCCEEDED", "the granted request")

    def instances(self):
        names = [f"n{i}" for i in range(5)]
        got = self.machine("n0")
        self.expect((got["status"], got["scheduling"]["provisioningModel"]), ("RUNNING", "FLEX_START"), "the machine")
        self.expect("terminationTimestamp" in got["resourceStatus"]["scheduling"], True, "its end is shown")
        for query in ({}, {"filter": 'name eq "n[0-4]"'}, {"filter": "status=RUNNING"}):
            self.expect(self.machines(maxResults=2, **query), names, f"machines by pages of 2, with {query}")
        self.expect(self.machines(filter="name eq n"), [], "another's")
        few = self.api.instances().list(fields="items(name,scheduling/provisioningModel),nextPageToken", **ZONAL).execute()
        self.expect(set(few), {"items"}, "what is left of a partial answer")
        self.expect({k for i in few["items"] for k in i}, {"name", "scheduling"}, "of its items")

    def members(self):
        at = {"instanceGroupManager": "m", **REGIONAL}
        members = self.groups.listManagedInstances(**at).execute()["managedInstances"]
        self.expect([(m["name"], m["currentAction"]) for m in members], [(f"n{i}", "NONE") for i in range(5)], "members")

    def shrinking(self):
        at = {"instanceGroupManager": "m", **REGIONAL}
        url = f"projects/{PROJECT}/zones/{ZONE}/instances/"
        self.done(self.groups.deleteInstances(body={"instances": [url + "n0"]}, **at).execute())
        self.fake.advance("10s")
        self.done(self.groups.deleteInstances(body={"instances": [url + "n2", url + "n3"]}, **at).execute())
        self.fake.advance("10s")
        self.expect(self.groups.get(**at).execute()["targetSize"], 2, "targetSize")
        operation = self.api.instances().delete(instance="n1", **ZONAL).execute()
        self.fake.advance("10s")
        self.done(operation | {"status": "RUNNING"})
        left = self.machines()
        self.expect(len(left), 1, f"machines left ({left})")

    def bulk(self):
        at = "global/instanceTemplates/g2"
        one = self.api.instances().bulkInsert(body=bulk(at, "b0", "b1"), **ZONAL).execute()
        elsewhere = {"targetShape": "ANY_SINGLE_ZONE", "locations": {f"zones/{ZONE}": {"preference": "DENY"}}}
        body = bulk(at, "c0", "c1", "c2", minCount="2", locationPolicy=elsewhere)
        two = self.api.regionInstances().bulkInsert(body=body, **REGIONAL).execute()
        self.fake.advance("20s")
        for operation in (one, two):
            self.done(operation)
        self.expect(self.machines(filter='name eq "[bc]."'), ["b0", "b1"], "the machines of bulkInsert")
        made = [i["name"] for i in self.fake.tell("state", verb="GET")["instances"]]
        self.expect([name for name in made if name[0] == "c"], ["c0", "c1", "c2"], "the machines of the regional bulkInsert")

    def preemption(self):
        spot = template("spot", "n1-standard-8")["properties"]
        spot["scheduling"] = {"provisioningModel": "SPOT", "instanceTerminationAction": "STOP"}
        del spot["reservationAffinity"]
        body = {"count": "1", "perInstanceProperties": {"s0": {"name": "s0"}}, "instanceProperties": spot}
        operation = self.api.instances().bulkInsert(body=body, **ZONAL).execute()
        self.fake.advance("20s")
        self.done(operation)
        self.fake.tell("vms/s0/preempt")
        self.expect(self.machine("s0")["status"], "STOPPING", "a preempted machine")
        self.fake.advance("10s")
        self.expect(self.machine("s0")["status"], "TERMINATED", "a preempted machine later")

    def maintenance(self):
        self.fake.tell("vms/n4/maintenance", **{"in": "1h", "lasts": "1h"})
        got = self.machine("n4")["resourceStatus"]
        self.expect(got["upcomingMaintenance"]["type"], "SCHEDULED", "the announced maintenance")
        self.expect(set(got["physicalHostTopology"]) >= {"cluster", "block", "subblock", "host"}, True, "where the machine is")

    def unreachable(self):
        """What lists say of places that they do not reach."""
        self.fake.tell("faults", method="*ist", unreachable=[REGION])
        lists = self.api.regionInstanceGroupManagers(), self.api.resourcePolicies()
        for name, call in [(f"list {i}", resource.list(**REGIONAL)) for i, resource in enumerate(lists)] + [
            ("requests", self.requests.list(instanceGroupManager="m", **REGIONAL)),
            ("machines", self.api.instances().list(**ZONAL)),
        ]:
            self.expect(call.execute()["warning"]["code"], "UNREACHABLE", name)
        self.fake.tell("faults", verb="DELETE")

    def operations(self):
        every = []
        operations = self.api.globalOperations()
        call = operations.aggregatedList(project=PROJECT, maxResults=5)
        while call is not None:
            answer = call.execute()
            for scope in answer["items"].values():
                every += [item["name"] for item in scope["operations"]]
            call = operations.aggregatedList_next(call, answer)
        self.expect(len(every) > 10 and len(set(every)) == len(every), True, "operations by pages of 5")

    def ends(self):
        operation = self.groups.delete(instanceGroupManager="m", **REGIONAL).execute()
        self.fake.advance("20s")
        self.done(operation)
        self.done(self.api.resourcePolicies().delete(resourcePolicy="near", **REGIONAL).execute())
        state = self.fake.tell("state", verb="GET")
        self.expect([g["name"] for g in state["groups"]], [], "groups left")
        self.expect(state["policies"], [], "policies left")
