"""Bodies of requests, read up to a size that is known before they are."""

from typing import TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from pipelines.serving.problems import Problem, Refused

M = TypeVar("M", bound=BaseModel)

LARGEST_JSON = 512_000
"""Bytes: the longest message that a setting allows, every character escaped."""

_NOT_JSON = Problem(415, "unsupported_media_type", "send JSON as application/json")
_TOO_LARGE = Problem(413, "too_large", f"this request may have {LARGEST_JSON} bytes at most")


async def read_json(request: Request, model: type[M], *, most: int = LARGEST_JSON) -> M:
    """The body as a model. A page of another site cannot send this media type without asking first.

    Raises Refused for another media type and for a body that is too large, whatever length it claimed to have;
    RequestValidationError for what the model does not allow.
    """
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise Refused(_NOT_JSON)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise Refused(_TOO_LARGE)
    try:
        return model.model_validate_json(bytes(body))
    except ValidationError as error:
        raise RequestValidationError(
            [{**item, "loc": ("body", *item["loc"])} for item in error.errors(include_input=False, include_url=False)]
        ) from None
