"""How often a client may ask."""

import time
from collections import OrderedDict

from pipelines.serving.problems import Problem, Refused

_MOST_CLIENTS = 10_000
_TOO_MANY = Problem(429, "too_many_requests", "too many messages in a short time: wait a moment")


class Rate:
    """A bucket for each client, by address, that fills evenly: `per_minute` at once, and as many each minute."""

    def __init__(self, per_minute: int) -> None:
        self._size = float(per_minute)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count a request. Raises Refused where the bucket is empty."""
        now = time.monotonic()
        left, since = self._buckets.pop(client, (self._size, now))
        left = min(self._size, left + (now - since) * self._size / 60.0)
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        while len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        if left < 1:
            raise Refused(_TOO_MANY)
