"""What the walks found: how many calls were made, and what was not as it should be."""


class Report:
    def __init__(self):
        self.calls = 0
        self.deviations = []
        self.methods = set()
        self.step = ""

    def deviation(self, text):
        self.deviations.append(f"{self.step}: {text}" if self.step else text)

    def expect(self, got, want, what):
        if got != want:
            self.deviation(f"{what}: {got!r}, not {want!r}")

    def attempt(self, name, step):
        """Takes one step of a walk; one that breaks off is a deviation too."""
        self.step = name
        try:
            step()
        except Exception as error:  # of any kind: the next step is to be taken
            self.deviation(f"breaks off: {error!r}")
        self.step = ""
