"""A slurmflex-fakegce of its own for each walk, whose clock moves only when it is told to."""

import json
import subprocess
import urllib.error
import urllib.request


class Fake:
    def __init__(self, program, *flags):
        command = [program, "--listen", "127.0.0.1:0", "--manual-clock"]
        command += ["--operation-time", "2s", "--boot-time", "20s", "--delete-time", "10s", *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.url = line.split(" at ")[-1].strip()
        if not self.url.startswith("http://"):
            raise SystemExit(f"foreign: {program} does not start: {line!r}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def tell(self, command, verb="POST", **body):
        """Gives a command of the fake's own, such as advance."""
        data = json.dumps(body).encode() if verb == "POST" else None
        request = urllib.request.Request(f"{self.url}/fake/{command}", data=data, method=verb)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def refuses(self, command, **body):
        """What the fake says to a command that it refuses; "" if it does not."""
        try:
            self.tell(command, **body)
        except urllib.error.HTTPError as error:
            return json.load(error)["error"]
        return ""

    def advance(self, duration):
        self.tell("advance", duration=duration)
