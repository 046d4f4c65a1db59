"""One Markdown note -> a document: metadata, body, links, tags; comments dropped, embeds as links or put in place."""

from collections.abc import Callable

from pipelines.parsing.document import ParsedDocument
from pipelines.parsing.embeds import Embedder
from pipelines.parsing.frontmatter import split_frontmatter
from pipelines.parsing.note_body import assemble, read_body
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.properties import aliases_of, date_of, locale_of, tags_of, title_of

ResolveEmbed = Callable[[str], str | None]


def parse_note(text: str, *, options: ParseOptions, resolve_embed: ResolveEmbed | None = None) -> ParsedDocument:
    """Parse a note's clean text. Publication rules and masking are the cleaning's business."""
    front = split_frontmatter(text)
    expand = None
    if options.resolve_embeds and resolve_embed is not None:
        expand = Embedder(resolve_embed, options, text).expand
    body = read_body(front.body, first_line=front.lines_before, options=options, expand=expand)
    tags, too_many = tags_of(front.properties, body.tags)
    warnings = [*front.warnings, *body.warnings]
    if too_many:
        warnings.append("more tags than are kept: the rest was left out")
    readable, blocks = assemble(body.pieces)
    return ParsedDocument(
        text=readable,
        blocks=blocks,
        title=title_of(front.properties) or body.title,
        properties=front.properties,
        tags=tags,
        aliases=aliases_of(front.properties),
        links=tuple(dict.fromkeys(body.links)),
        declared_locale=locale_of(front.properties),
        declared_date=date_of(front.properties),
        warnings=tuple(warnings),
    )
