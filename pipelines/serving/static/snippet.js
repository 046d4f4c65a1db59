// The part of a passage that says most about a question, in a few lines of plain text.

const LENGTH = 260; // characters shown
const SHORTEST = 4; // letters of a word that is worth marking
const LEAD = 60; // characters in front of the first word found

/** Pieces {text, hit} in order; `hit` ones are words of the query. */
export function snippet(content, query = "") {
  const text = plain(content);
  const folded = fold(text);
  const words = [...new Set(fold(query).split(/[^\p{L}\p{N}]+/u))].filter((word) => word.length >= SHORTEST);
  const start = best(folded, words);
  const end = endOf(text, start);
  const pieces = [];
  let place = start;
  for (const { index, 0: found } of words.length ? folded.matchAll(new RegExp(words.join("|"), "gu")) : []) {
    if (index < place || index + found.length > end) continue;
    pieces.push(
      { text: text.slice(place, index), hit: false },
      { text: text.slice(index, index + found.length), hit: true },
    );
    place = index + found.length;
  }
  pieces.push({ text: text.slice(place, end) + (end < text.length ? "…" : ""), hit: false });
  if (start > 0) pieces.unshift({ text: "… ", hit: false });
  return pieces.filter((piece) => piece.text);
}

// At a blank, unless a word has no end.
function endOf(text, start) {
  if (start + LENGTH >= text.length) return text.length;
  const blank = text.lastIndexOf(" ", start + LENGTH);
  return blank > start + LENGTH / 2 ? blank : start + LENGTH;
}

function best(folded, words) {
  const score = (from) => words.filter((word) => folded.slice(from, from + LENGTH).includes(word)).length;
  let start = 0;
  for (const word of words) {
    const found = folded.indexOf(word);
    const from = found > LEAD ? folded.indexOf(" ", found - LEAD) + 1 : 0;
    if (score(from) > score(start)) start = from;
  }
  return start;
}

/** Without the marks of Markdown, which say little in three lines of text. */
function plain(content) {
  return content
    .normalize("NFC")
    .replace(/^#{1,6} .*$/gm, "")
    .replace(/^(```|~~~).*$/gm, "")
    .replace(/^\s*\|?[\s|:-]{3,}$/gm, "")
    .replace(/^([>\s]*)\[![\w-]+\][+-]?/gm, "$1")
    .replace(/^\s*(?:[-*+]|>|\d+\.)\s+(?:\[[ xX]\]\s+)?/gm, "")
    .replace(/!?\[\[(?:[^\]|]*\|)?([^\]]*)\]\]/g, "$1")
    .replace(/[*`|]+/g, " ")
    .replace(/\s+/g, " ")
    .replace(/ ([.,;:)])/g, "$1")
    .trim();
}

/** Lower case without accents, of the same length. */
function fold(text) {
  return text.replace(/[A-Z\u00c0-\u024f]/g, (letter) => letter.normalize("NFD")[0].toLowerCase());
}
