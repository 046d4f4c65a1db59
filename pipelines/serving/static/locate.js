// Where a passage stands in its document's text.

const SHORTEST = 12; // characters of a line that may find a place by itself

/** [start, end) in characters of `text`, or null. `lines` and the lines of `outline` are of the file. */
export function locate(text, { passage = null, lines = null, outline = [] } = {}) {
  return (passage && (whole(text, passage) ?? byLines(text, passage))) ?? byOutline(text, lines, outline);
}

function whole(text, passage) {
  const start = text.indexOf(passage);
  return start < 0 ? null : [start, start + passage.length];
}

// A piece of a table or of code repeats its head, and passages of neighbours are joined: then its lines, in order.
function byLines(text, passage) {
  const wanted = passage
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.length >= SHORTEST);
  let best = null;
  for (const [index, first] of wanted.entries()) {
    for (let from = text.indexOf(first); from >= 0; from = text.indexOf(first, from + 1)) {
      const run = follow(text, wanted, index, from);
      if (best === null || run.found > best.found) best = run;
    }
    if (best !== null && best.found >= wanted.length - index - 1) break;
  }
  return best === null ? null : [best.start, best.end];
}

function follow(text, wanted, index, start) {
  let end = start + wanted[index].length;
  let found = 1;
  for (const line of wanted.slice(index + 1)) {
    const next = text.indexOf(line, end);
    if (next < 0 || next - end > line.length + 400) continue;
    end = next + line.length;
    found += 1;
  }
  return { start, end, found };
}

function byOutline(text, lines, outline) {
  if (!lines) return null;
  const heading = outline.filter(({ line, offset }) => offset !== null && line <= lines[0]).at(-1);
  if (!heading || heading.offset > text.length) return null;
  const start = skipLines(text, heading.offset, lines[0] - heading.line);
  return [start, Math.max(start + 1, skipLines(text, start, lines[1] - lines[0] + 1) - 1)];
}

function skipLines(text, from, count) {
  let place = from;
  for (let line = 0; line < count; line += 1) {
    const next = text.indexOf("\n", place);
    if (next < 0) return text.length;
    place = next + 1;
  }
  return place;
}

/** The number of the line, from 0, that a character stands in. */
export function lineAt(text, place) {
  let line = 0;
  for (let next = text.indexOf("\n"); next >= 0 && next < place; next = text.indexOf("\n", next + 1)) line += 1;
  return line;
}
