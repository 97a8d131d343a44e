"""Google's Python client, with each answer checked against the discovery document."""

import json

from google.oauth2.credentials import Credentials
from googleapiclient.discovery import build_from_document
from googleapiclient.errors import HttpError
from googleapiclient.http import HttpRequest

from schema import envelope_faults

TOKEN = "a-token-of-the-walk"


def client(document, fake, report, **options):
    """A client of the fake that counts its calls and notes each deviation."""

    class Checked(HttpRequest):
        def execute(self, *args, **kwargs):
            report.calls += 1
            method = self.methodId.removeprefix("compute.")
            report.methods.add(method)
            try:
                answer = super().execute(*args, **kwargs)
            except HttpError as error:
                note_refusal(error, method, report)
                raise
            for fault in document.faults(method, answer, partial="fields=" in self.uri):
                report.deviation(f"{method}: {fault}")
            return answer

    if not options:
        options["credentials"] = Credentials(token=TOKEN)
    here = document.document | {"rootUrl": fake.url + "/"}
    return build_from_document(json.dumps(here), requestBuilder=Checked, **options)


def note_refusal(error, method, report):
    """Notes what is wrong with a refusal's form."""
    try:
        body = json.loads(error.content)
    except ValueError:
        report.deviation(f"{method}: the refusal is not JSON: {error.content!r}")
        return
    for fault in envelope_faults(error.resp.status, body):
        report.deviation(f"{method}: {fault}")


def refusal(call):
    """The status and reason that a call is refused with, and its message; (200, "", "") if it is taken."""
    try:
        call.execute()
    except HttpError as error:
        body = json.loads(error.content)["error"]
        return error.resp.status, body["errors"][0]["reason"], body["message"]
    return 200, "", ""
