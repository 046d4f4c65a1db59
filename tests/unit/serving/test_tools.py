"""What agents are offered: strict schemas, and nothing that writes unless a setting says so."""

import jsonschema
import pytest
from pydantic import ValidationError

from pipelines.serving.knowledge import Knowledge
from pipelines.serving.tools import SearchKnowledgeBase, create_tools
from pipelines.settings import Settings

READING = {
    "search_knowledge_base",
    "search_in_document",
    "list_available_documents",
    "summarize_document",
    "read_document",
}


def tools_of(**settings: object) -> dict[str, object]:
    return dict(create_tools(Knowledge(Settings.load(_env_file=None, **settings))))


def test_writing_is_offered_only_where_the_setting_allows_it() -> None:
    assert set(tools_of()) == READING
    assert set(tools_of(mcp_propose_learning=True)) == READING | {"propose_learning"}


def test_schemas_take_nothing_unknown_and_bound_everything() -> None:
    for name, tool in create_tools(Knowledge(Settings.load(_env_file=None, mcp_propose_learning=True))).items():
        schema = tool.arguments.model_json_schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False, name
        for field, described in schema["properties"].items():
            for kind in described.get("anyOf", [described]):
                if kind.get("type") == "string" and "enum" not in kind:
                    assert "maxLength" in described or "maxLength" in kind, (name, field)
                if kind.get("type") == "integer":
                    assert {"minimum"} & set(kind), (name, field)
                    assert {"maximum", "exclusiveMaximum"} & set(kind), (name, field)
                if kind.get("type") == "array":
                    assert "maxItems" in kind, (name, field)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": ""},
        {"query": "x", "sql": "DROP"},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": 51},
        {"query": "x", "limit": "5"},
        {"query": "x", "limit": True},
        {"query": "x", "offset": -1},
        {"query": "x", "folder": "a\x00b"},
        {"query": "x", "detail": "everything"},
        {"query": "x" * 4_001},
        {"query": ["x"]},
    ],
)
def test_arguments_out_of_bounds_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SearchKnowledgeBase.model_validate(arguments)
