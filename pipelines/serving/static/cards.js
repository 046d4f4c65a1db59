// A passage as a card: where it stands, how it begins, and a click opens it at its place.
import { h } from "./dom.js";
import { number } from "./language.js";
import { openPassage } from "./reader.js";
import { snippet } from "./snippet.js";

/** A list item. `passage` is a source of an answer, or a result of search; `n` is its number in the answer.
    Words of `query` are marked. */
export function card(passage, { n = null, cited = true, query = "" } = {}) {
  const text = snippet(passage.text ?? passage.content, query);
  const folder = passage.source.split("/").slice(0, -1).join(" / ");
  const title = passage.title || name(passage.source);
  const button = h(
    "button",
    { type: "button", class: cited ? "card" : "card uncited", on: { click: () => openPassage(passage, button) } },
    n !== null && h("span", { class: "card-number" }, String(n)),
    h(
      "span",
      { class: "card-body" },
      h("span", { class: "card-title" }, title),
      h("span", { class: "card-place" }, folder && h("span", {}, folder), section(passage, title), place(passage)),
      h("span", { class: "card-text" }, ...text.map(({ text: piece, hit }) => (hit ? h("mark", {}, piece) : piece))),
    ),
  );
  if (n !== null) button.dataset.source = String(n);
  return h("li", {}, button);
}

/** Lines or pages, in the reader's words. */
export function place({ pages, lines }) {
  const range = pages ?? lines;
  if (!range) return null;
  const [first, last] = range;
  const key = `${pages ? "page" : "line"}${first === last ? "" : "s"}`;
  return h("span", { t: key, values: { first: number(first), last: number(last) } });
}

/** A document's file name without its folder and ending. */
export const name = (source) =>
  source
    .split("/")
    .at(-1)
    .replace(/\.[a-z]{2,6}$/i, "");

function section({ section: path }, title) {
  const last = path?.split(" > ").at(-1);
  return last && last !== title ? h("span", {}, last) : null;
}
