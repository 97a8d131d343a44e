"""The credentials that the fake takes."""

import httplib2

from client import client, refusal
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
        self.report.attempt("credentials", self.credentials)

    def credentials(self):
        for what, api, want in (
            ("no token", client(self.document, self.fake, self.report, http=httplib2.Http()), (401, "required")),
            ("another token", client(self.document, self.fake, self.report, http=WithToken("of-another")), (401, "authError")),
            ("the token", self.client(), (200, "")),
        ):
            got = refusal(api.zones().get(**ZONAL))
            self.report.expect(got[:2], want, f"a call with {what}")
