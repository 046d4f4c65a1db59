"""What of a model's text is shown, and when: nothing before it has cited a passage of this turn."""

from pipelines.assistant.citations import Checker
from pipelines.assistant.desk import Turn


class Gate:
    """One response of the model on its way to the reader.

    Text waits until its first citation that holds. A response that never cites is never shown: it may be an opening
    before a tool call, the model's own knowledge, or what a note told it to say.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._checker = Checker(lambda number: turn.shelf.get(number) is not None, turn.shelf.holds)
        self._waiting = ""
        self._removed = 0
        self._referred = 0

    @property
    def open(self) -> bool:
        """Whether a citation has been shown."""
        return bool(self._checker.cited)

    def feed(self, piece: str) -> None:
        """Take a piece of text."""
        self._pass(self._checker.feed(piece))

    def finish(self) -> None:
        """The response is over."""
        self._pass(self._checker.finish().rstrip())

    def _pass(self, text: str) -> None:
        self._turn.removed += self._checker.removed - self._removed
        self._removed = self._checker.removed
        self._waiting += text
        if self.open:
            self._refer()
            self._turn.say(self._waiting)
            self._waiting = ""

    def _refer(self) -> None:
        """Documents of a list become sources when they are cited, and not before: there may be dozens."""
        cited = self._checker.cited[self._referred :]
        self._referred = len(self._checker.cited)
        shelf = self._turn.shelf
        self._turn.refer(
            [
                item
                for number in dict.fromkeys(cited)
                if (item := shelf.get(number)) and item.ordinal is None and number not in self._turn.referred
            ]
        )
        self._turn.referred.update(cited)
