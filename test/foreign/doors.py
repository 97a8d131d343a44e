"""The ways in that Google's client takes besides plain calls: credentials, batches, and lists that are too long for a URL."""

import json

import httplib2

from bodies import PROJECT
from client import client, note_refusal, refusal
from life import ZONAL


class WithToken(httplib2.Http):
    """Carries a token as it is, and does not ask for a new one when it is refused."""

    def __init__(self, token):
        super().__init__()
        self.token = token

    def request(self, uri, method="GET", body=None, headers=None, **options):
        return super().request(uri, method, body, (headers or {}) | {"authorization": f"Bearer {self.token}"}, **options)


class Doors:
    def __init__(self, document, fake, report):
        self.document, self.fake, self.report = document, fake, report

    def client(self):
        return client(self.document, self.fake, self.report)

    def walk(self):
        for step in (self.credentials, self.long_list, self.batch):
            self.report.attempt(step.__name__.replace("_", " "), step)

    def credentials(self):
        for what, api, want in (
            ("no token", client(self.document, self.fake, self.report, http=httplib2.Http()), (401, "required")),
            ("another token", client(self.document, self.fake, self.report, http=WithToken("of-another")), (401, "authError")),
            ("the token", self.client(), (200, "")),
        ):
            got = refusal(api.zones().get(**ZONAL))
            self.report.expect(got[:2], want, f"a call with {what}")

    def long_list(self):
        others = " AND ".join(f"zone!=us-central1-{letter * 60}" for letter in "abcdefghijklmnopqrstuvwxyz")
        call = self.client().machineTypes().aggregatedList(project=PROJECT, filter=others + " AND name=a3-highgpu-8g")
        self.report.expect(len(call.execute()["items"]), 7, "the zones of a list whose filter is too long for a URL")

    def batch(self):
        api, got = self.client(), {}

        def note(name, answer, error):
            self.report.calls += 1
            if error is not None:
                note_refusal(error, name, self.report)
                got[name] = error.resp.status
                return
            got[name] = answer["name"]
            for fault in self.document.faults("zones.get", answer):
                self.report.deviation(f"in a batch: {fault}")

        batch = api.new_batch_http_request(callback=note)
        batch._batch_uri = f"{self.fake.url}/batch/compute/v1"  # the client's is Google's own
        batch.add(api.zones().get(**ZONAL), request_id="there")
        batch.add(api.instances().delete(instance="none", **ZONAL), request_id="missing")
        batch.execute()
        self.report.expect(got, {"there": ZONAL["zone"], "missing": 404}, f"a batch ({json.dumps(got)})")
