"""Sends the calls of a file in replays, as another client would, and holds each answer against the schema.

A call has a verb, a path after projects/PROJECT/, and may have a query, a body, the status that it must get (200 if it
is left out), fields that its answer must have (want), and the time to advance after it. A batch has calls that are sent
as one.
"""

import email
import json
import urllib.error
import urllib.request
from functools import partial

from bodies import PROJECT
from client import TOKEN
from schema import envelope_faults


class Replay:
    def __init__(self, name, script, document, fake, report):
        self.name, self.script = name, script
        self.document, self.fake, self.report = document, fake, report

    def run(self):
        for call in self.script["calls"]:
            self.report.attempt(f"{self.name}: {call.get('verb', 'batch')} {call.get('path', '')}", partial(self.one, call))

    def one(self, call):
        if "batch" in call:
            self.batch(call["batch"], call.get("version", "v1"))
        else:
            self.single(call)
        if "advance" in call:
            self.fake.advance(call["advance"])
            self.operations()

    def operations(self):
        """No operation may end with an error."""
        for operation in self.fake.tell("state", verb="GET")["operations"]:
            if operation.get("error"):
                self.report.deviation(f"{operation['type']} of {operation['target']}: {operation['error']}")

    def address(self, call):
        query = "&".join(q for q in (call.get("query", "").replace(" ", "%20"), self.script["query"]) if q)
        return f"/compute/{call.get('version', 'v1')}/projects/{PROJECT}/{call['path']}", query

    def single(self, call):
        path, query = self.address(call)
        headers, data = {}, None
        if "body" in call:
            headers["content-type"], data = "application/json", json.dumps(call["body"]).encode()
        status, text = self.send(call["verb"], path + ("?" + query if query else ""), data, headers)[:2]
        self.check(call, status, text)

    def send(self, verb, path, data, headers):
        headers["authorization"] = f"Bearer {TOKEN}"
        request = urllib.request.Request(self.fake.url + path, data=data, headers=headers, method=verb)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read(), answer.headers["content-type"]
        except urllib.error.HTTPError as error:
            return error.code, error.read(), error.headers["content-type"]

    def batch(self, calls, version):
        lines = []
        for i, call in enumerate(calls):
            path, query = self.address(call)
            body = json.dumps(call["body"]) if "body" in call else ""
            lines += ["--cut", "Content-Type: application/http", f"Content-ID: <all + {i}>", ""]
            lines += [f"{call['verb']} {path}?{query} HTTP/1.1", "Content-Type: application/json"]
            lines += [f"Content-Length: {len(body)}", "", body]
        data = "\r\n".join([*lines, "--cut--", ""]).encode()
        headers = {"content-type": "multipart/mixed; boundary=cut"}
        status, text, kind = self.send("POST", f"/batch/compute/{version}", data, headers)
        self.report.expect(status, 200, "the batch's status")
        parts = email.message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + text).get_payload()
        self.report.expect(len(parts), len(calls), "the answers to a batch")
        for i, (call, part) in enumerate(zip(calls, parts)):
            self.report.expect(part["Content-ID"], f"<response-all + {i}>", "the Content-ID of an answer")
            line, answer = part.get_payload().split("\n", 1)
            self.check(call, int(line.split()[1]), email.message_from_string(answer).get_payload().encode())

    def check(self, call, status, text):
        self.report.calls += 1
        self.report.expect(status, call.get("status", 200), f"{call['verb']} {call['path']}: status ({text.decode()[:300]})")
        answer = json.loads(text)
        if status != 200:
            faults = envelope_faults(status, answer)
        else:
            path = self.address(call)[0].split("/", 3)[3]
            method = self.document.find(call["verb"], path)
            faults = self.document.faults(method, answer, partial="fields=" in self.address(call)[1])
        for fault in faults:
            self.report.deviation(fault)
        for name, want in call.get("want", {}).items():
            self.report.expect(answer.get(name), want, name)
        wrong = "/compute/v1/" if call.get("version") == "beta" else "/compute/beta/"
        if wrong in text.decode():
            self.report.deviation(f"the answer has links of {wrong}")
