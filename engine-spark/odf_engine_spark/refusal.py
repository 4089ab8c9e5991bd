"""How a query is refused: an exception inside the engine, an InvalidQuery value outside."""

from odf_wire.messages import InvalidQuery


class Refused(Exception):
    """The query is at fault. Carries the answer for its author."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.verdict = InvalidQuery(message=message, line=line, column=column, hint=hint)
