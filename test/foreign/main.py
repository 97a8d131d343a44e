"""Google's Python client walks through the fake Compute API: main.py FAKE DISCOVERY-DOCUMENT API.JSON"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from client import TOKEN, client  # noqa: E402
from doors import Doors  # noqa: E402
from fake import Fake  # noqa: E402
from life import Life  # noqa: E402
from refusals import Refusals  # noqa: E402
from report import Report  # noqa: E402
from schema import Document  # noqa: E402


def main(program, discovery, digest):
    with open(discovery) as file:
        document = Document(json.load(file))
    report = Report()
    for walk in (Life, Refusals):
        with Fake(program) as fake:
            walk(client(document, fake, report), fake, report).walk()
    with Fake(program, "--token", TOKEN) as fake:
        Doors(document, fake, report).walk()
    with open(digest) as file:
        for method in sorted(set(json.load(file)["methods"]) - report.methods):
            report.deviation(f"{method} was not called")
    for text in report.deviations:
        print("foreign:", text, file=sys.stderr)
    print(f"foreign: {report.calls} calls, {len(report.deviations)} deviations")
    return 1 if report.deviations else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
