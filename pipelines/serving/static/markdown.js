// Markdown of notes and answers -> elements. HTML in it stays text, and what comes out is sanitised all the same.
import { colour } from "./code.js";

const ALLOWED_TAGS = (
  "a blockquote br button code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul"
).split(" ");
const ALLOWED_ATTR = "class href title start data-lines data-cite data-note type".split(" ");

const parser = window.markdownit({ html: false, linkify: true, breaks: false });

parser.core.ruler.push("lines", (state) => {
  for (const token of state.tokens) {
    if (token.map && (token.nesting === 1 || token.type === "fence" || token.type === "code_block")) {
      token.attrSet("data-lines", token.map.join("-"));
    }
  }
});

// [[Note#Section|words]] and ![[Note]], as Obsidian writes them.
function wikilink(state, silent) {
  const found = /^!?\[\[([^[\]|\n]+)(?:\|([^[\]\n]+))?\]\]/.exec(state.src.slice(state.pos, state.pos + 600));
  if (!found) return false;
  if (!silent) {
    const token = state.push("wikilink", "", 0);
    token.meta = { note: found[1].trim(), text: (found[2] ?? found[1]).trim() };
  }
  state.pos += found[0].length;
  return true;
}
parser.inline.ruler.before("link", "wikilink", wikilink);

// [3] where the answer has a source of that number.
parser.inline.ruler.before("link", "citation", (state, silent) => {
  const found = /^\[(\d{1,3})\](?![([:])/.exec(state.src.slice(state.pos, state.pos + 8));
  if (!found || !state.env.citations?.has(Number(found[1]))) return false;
  if (!silent) state.push("citation", "", 0).meta = { number: Number(found[1]) };
  state.pos += found[0].length;
  return true;
});

// - [x] done
parser.core.ruler.before("inline", "tasks", (state) => {
  for (const [index, token] of state.tokens.entries()) {
    if (token.type !== "inline" || state.tokens[index - 2]?.type !== "list_item_open") continue;
    token.content = token.content.replace(/^\[([ xX])\] /, (_, done) => (done === " " ? "☐ " : "☑ "));
  }
});

const escape = parser.utils.escapeHtml;
const { rules } = parser.renderer;
rules.wikilink = (tokens, index) => {
  const { note, text } = tokens[index].meta;
  return `<a class="wikilink" href="#/note/${escape(encodeURIComponent(note))}" data-note="${escape(note)}">${escape(text)}</a>`;
};
rules.citation = (tokens, index) => {
  const { number } = tokens[index].meta;
  return `<button type="button" class="cite" data-cite="${number}">${number}</button>`;
};
// Nothing is loaded for a note: an image is its words.
rules.image = (tokens, index) => `<span class="image">${escape(tokens[index].content || tokens[index].attrGet("src"))}</span>`;

/** A fragment of elements. `citations` are the numbers that may be cited, `source` is the note that links start from. */
export function render(text, { citations = new Set(), source = null } = {}) {
  const fragment = sanitised(parser.render(text, { citations }));
  for (const link of fragment.querySelectorAll("a")) prepare(link, source);
  for (const table of fragment.querySelectorAll("table")) frame(table);
  for (const block of fragment.querySelectorAll("pre > code")) colour(block);
  return fragment;
}

/** Markup -> elements, of which only harmless ones are left. The only place where strings become elements. */
export function sanitised(markup) {
  return window.DOMPurify.sanitize(markup, {
    ALLOWED_TAGS,
    ALLOWED_ATTR,
    ALLOW_DATA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i,
    RETURN_DOM_FRAGMENT: true,
  });
}

function prepare(link, source) {
  if (link.dataset.note) return;
  const target = link.getAttribute("href") ?? "";
  if (/^(https?:|mailto:)/i.test(target)) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  } else if (source && target && !target.startsWith("#")) {
    link.href = `#/note/${encodeURIComponent(beside(source, target))}`;
  } else {
    link.removeAttribute("href"); // an anchor inside of a note has no place in this page
  }
}

/** The document that a relative link of `source` names. */
function beside(source, target) {
  let path = target.split(/[#?]/)[0];
  try {
    path = decodeURIComponent(path);
  } catch {
    // a stray percent sign: the name is as written
  }
  const steps = path.startsWith("/") ? [] : source.split("/").slice(0, -1);
  for (const step of path.split("/")) {
    if (step === "..") steps.pop();
    else if (step && step !== ".") steps.push(step);
  }
  return steps.join("/");
}

function frame(table) {
  const box = document.createElement("div");
  box.className = "table-box";
  box.tabIndex = 0; // wide tables scroll by keyboard too
  table.replaceWith(box);
  box.append(table);
}
