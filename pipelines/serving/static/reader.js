// The document beside the view, opened at the cited passage.
import { documentPath, get } from "./api.js";
import { announce, failure, h, iconButton, part, toast } from "./dom.js";
import { t, when } from "./language.js";
import { lineAt, locate } from "./locate.js";
import { render } from "./markdown.js";
import { goWith } from "./router.js";

const PART = 200_000; // characters of one request
const MOST_PARTS = 10; // a passage further away than that is not looked for
const narrow = matchMedia("(max-width: 1099px)");
const passages = new Map(); // what was clicked, for the place that the address names
let opened = null; // {key, source, trigger}
let next = null; // what was clicked
let loading = 0;

/** Open a passage's document at its place; focus goes back to `trigger` afterwards. */
export function openPassage(passage, trigger) {
  const range = passage.lines ?? null;
  const at = range ? range.join("-") : null;
  passages.set(keyOf(passage.source, at), passage);
  next = trigger;
  if (opened?.key === keyOf(passage.source, at)) toPassage(part("reader").querySelector(".reader-body"));
  else goWith({ doc: passage.source, at });
}

/** The document that is read, or null. */
export const reading = () => opened?.source ?? null;

/** Show what the address names. */
export function follow({ parameters }) {
  const source = parameters.get("doc");
  if (!source) return close();
  const at = parameters.get("at");
  const key = keyOf(source, at);
  if (opened?.key === key) return undefined;
  opened = { key, source, trigger: next ?? opened?.trigger ?? document.activeElement };
  next = null;
  return show(source, passages.get(key) ?? { lines: rangeOf(at) });
}

export function leave() {
  goWith({ doc: null, at: null });
}

narrow.addEventListener("change", cover);

async function show(source, passage) {
  const turn = ++loading;
  const panel = part("reader");
  const body = h(
    "div",
    { class: "reader-body", tabindex: "0", "aria-busy": "true" },
    h("p", { class: "quiet", t: "loading" }),
  );
  const title = h("h2", { id: "reader-title" }, source.split("/").at(-1));
  const facts = h("p", { class: "reader-facts" }, h("span", { class: "path" }, source));
  const jump = iconButton("target", "to_passage", () => toPassage(body), { hidden: true });
  panel.replaceChildren(
    h(
      "header",
      { class: "reader-head" },
      h("div", {}, title, facts),
      jump,
      iconButton("close", "close_document", leave),
    ),
    body,
  );
  panel.hidden = false;
  document.body.classList.add("reading");
  cover();
  panel.focus();
  try {
    const text = await load(source, passage);
    if (turn !== loading) return;
    title.textContent = text.title || source.split("/").at(-1);
    facts.append(when(text.modified_at), ...text.tags.slice(0, 6).map((tag) => h("span", { class: "tag" }, tag)));
    fill(body, text);
    jump.hidden = !toPassage(body);
    announce(t(jump.hidden ? "document_open" : "document_open_at", { title: title.textContent }));
  } catch (error) {
    if (turn !== loading) return;
    body.replaceChildren(
      error.status === 404
        ? h("div", { class: "notice" }, h("p", { t: "not_readable" }))
        : failure(error, () => show(source, passage)),
    );
  } finally {
    body.removeAttribute("aria-busy");
  }
}

/** The text as far as the passage, with `range`, its characters, or null. */
async function load(source, passage) {
  let text = null;
  let range = null;
  for (let count = 0; count < MOST_PARTS; count += 1) {
    const more = await readPart(source, text?.next_offset ?? 0);
    text = text ? { ...text, content: text.content + more.content, next_offset: more.next_offset } : more;
    range = locate(text.content, {
      passage: passage.text ?? passage.content,
      lines: passage.lines,
      outline: text.outline,
    });
    if (range || text.next_offset === null) break;
  }
  return { ...text, range };
}

function fill(body, text) {
  const article = h("article", { class: "prose", lang: text.locale || null });
  if (text.media_type === "markdown") {
    article.append(render(text.content));
    if (text.range) markBlocks(article, lineAt(text.content, text.range[0]), lineAt(text.content, text.range[1] - 1));
  } else {
    article.classList.add("plain");
    article.append(...plain(text.content, text.range));
  }
  const headings = [...article.querySelectorAll("h1, h2, h3")].filter((heading) => heading.textContent.trim());
  body.replaceChildren(...(headings.length > 2 ? [contents(headings)] : []), article);
  if (text.next_offset !== null) {
    body.append(
      h("button", { type: "button", class: "button", t: "long_document", on: { click: () => extend(body, text) } }),
    );
  }
}

/** Show the next part of a long document, at the place that is being read. */
async function extend(body, text) {
  const turn = loading;
  try {
    const more = await readPart(text.source, text.next_offset);
    const place = body.scrollTop;
    if (turn === loading) fill(body, { ...text, content: text.content + more.content, next_offset: more.next_offset });
    body.scrollTop = place;
  } catch (error) {
    toast(error.message);
  }
}

const readPart = (source, offset) => get(`${documentPath(source)}?offset=${offset}&limit=${PART}`);

function contents(headings) {
  const items = headings.map((heading) =>
    h(
      "li",
      { class: `level-${heading.tagName[1]}` },
      h("button", { type: "button", on: { click: () => reveal(heading) } }, heading.textContent),
    ),
  );
  return h("details", { class: "contents" }, h("summary", { t: "contents" }), h("ul", {}, ...items));
}

// Blocks know their lines: the innermost ones that the passage touches are its place.
function markBlocks(article, first, last) {
  const touched = (element) => {
    const [start, end] = element.dataset.lines.split("-").map(Number);
    return start <= last && end > first;
  };
  const blocks = [...article.querySelectorAll("[data-lines]")].filter(touched);
  const inner = blocks.filter((block) => ![...block.querySelectorAll("[data-lines]")].some(touched));
  const hits = joined(inner.map((block) => block.closest(".code-box, tr") ?? block));
  for (const hit of hits) hit.classList.add("hit");
  bracket(hits[0], hits.at(-1));
}

// Neighbours in the text become one panel; items and rows stay in their list or table.
function joined(blocks) {
  const whole = blocks.map((block) => {
    const list = block.closest("ul, ol, table");
    return list && list.querySelectorAll("li, tr").length === blocks.filter((other) => list.contains(other)).length
      ? (list.closest(".table-box") ?? list)
      : block;
  });
  const panels = [];
  for (const block of new Set(whole)) {
    if (block.matches("li, tr")) panels.push(block);
    else if (panels.at(-1)?.nextElementSibling === block && panels.at(-1).matches(".passage"))
      panels.at(-1).append(block);
    else {
      const panel = h("div", { class: "passage" });
      block.replaceWith(panel);
      panel.append(block);
      panels.push(panel);
    }
  }
  return panels;
}

/** Paragraphs of a text without marks, the passage in a <mark>. */
function plain(text, range) {
  const [start, end] = range ?? [0, 0];
  let place = 0;
  const paragraphs = text.split(/(\n{2,})/).flatMap((piece, index) => {
    const from = place;
    place += piece.length;
    if (index % 2 || !piece) return [];
    const [a, b] = [start, end].map((edge) => Math.min(Math.max(edge - from, 0), piece.length));
    const marked = a < b ? h("mark", { class: "hit" }, piece.slice(a, b)) : null;
    return [h("p", {}, piece.slice(0, a), marked, piece.slice(b))];
  });
  const marks = paragraphs.flatMap((paragraph) => [...paragraph.querySelectorAll("mark")]);
  bracket(marks[0], marks.at(-1));
  return paragraphs;
}

// Colour alone says nothing to who does not see it.
function bracket(first, last) {
  if (!first) return;
  (first.querySelector("td, th") ?? first).prepend(h("span", { class: "visually-hidden", t: "passage_begins" }));
  (last.querySelector("td:last-child, th:last-child") ?? last).append(
    h("span", { class: "visually-hidden", t: "passage_ends" }),
  );
}

function toPassage(body) {
  const hit = body.querySelector(".hit");
  if (hit) reveal(hit);
  return hit !== null;
}

function reveal(element) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const box = element.closest(".reader-body");
  const top = element.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
  box.scrollTo({ top: top - Math.min(96, box.clientHeight / 5), behavior: calm ? "auto" : "smooth" });
}

function close() {
  const panel = part("reader");
  if (panel.hidden) return;
  loading += 1;
  panel.hidden = true;
  panel.replaceChildren();
  document.body.classList.remove("reading");
  cover();
  const back = opened?.trigger;
  opened = null;
  (back?.isConnected && back !== document.body ? back : part("main")).focus();
}

// On a narrow screen the document covers everything, so nothing under it can be reached.
function cover() {
  const covered = narrow.matches && !part("reader").hidden;
  for (const element of [part("main"), part("sidebar"), document.querySelector(".topbar")]) element.inert = covered;
}

document.addEventListener("pointerdown", (event) => {
  if (narrow.matches && part("main").inert && !part("reader").contains(event.target)) leave();
});

const keyOf = (source, at) => `${source}\n${at ?? ""}`;

function rangeOf(at) {
  const found = /^(\d+)-(\d+)$/.exec(at ?? "");
  return found ? [Number(found[1]), Number(found[2])] : null;
}
