"""(soon)"""


class Llm:  # pragma: no cover
    pass
