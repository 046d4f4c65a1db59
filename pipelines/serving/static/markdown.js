// Markdown of notes and answers -> elements. HTML in it stays text, and what comes out is sanitised all the same.
import { colour } from "./code.js";

const ALLOWED_TAGS =
  "a blockquote br button code em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul".split(
    " ",
  );
const ALLOWED_ATTR = "class href title start data-lines data-cite type".split(" ");

const parser = window.markdownit({ html: false, linkify: true, breaks: false });

parser.core.ruler.push("lines", (state) => {
  for (const token of state.tokens) {
    if (token.map && (token.nesting === 1 || token.type === "fence" || token.type === "code_block")) {
      token.attrSet("data-lines", token.map.join("-"));
    }
  }
});

// [3] where the answer has a source of that number.
parser.inline.ruler.before("link", "citation", (state, silent) => {
  const found = /^\[(\d{1,3})\](?![([:])/.exec(state.src.slice(state.pos, state.pos + 8));
  if (!found || !state.env.citations?.has(Number(found[1]))) return false;
  if (!silent) state.push("citation", "", 0).meta = { number: Number(found[1]) };
  state.pos += found[0].length;
  return true;
});

// > [!warning] Title, as Obsidian writes callouts
parser.core.ruler.before("inline", "callouts", ({ tokens }) => {
  for (const [index, token] of tokens.entries()) {
    if (token.type !== "inline" || tokens[index - 2]?.type !== "blockquote_open") continue;
    const found = /^\[!([\w-]+)\][+-]?[ \t]*(.*)/.exec(token.content);
    if (!found) continue;
    tokens[index - 2].attrJoin("class", `callout ${found[1].toLowerCase()}`);
    const title = found[2] || found[1][0].toUpperCase() + found[1].slice(1).toLowerCase();
    token.content = `**${title}**  ${token.content.slice(found[0].length)}`;
  }
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
rules.citation = (tokens, index) => {
  const { number } = tokens[index].meta;
  return `<button type="button" class="cite" data-cite="${number}">${number}</button>`;
};
// Nothing is loaded for a note: an image is its words.
rules.image = (tokens, index) =>
  `<span class="image">${escape(tokens[index].content || tokens[index].attrGet("src"))}</span>`;

/** A fragment of elements. `citations` are the numbers that may be cited. */
export function render(text, { citations = new Set() } = {}) {
  const fragment = sanitised(parser.render(text, { citations }));
  for (const link of fragment.querySelectorAll("a")) prepare(link);
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
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    ADD_URI_SAFE_ATTR: ["data-lines", "data-cite", "start", "type"], // no addresses
    RETURN_DOM_FRAGMENT: true,
  });
}

function prepare(link) {
  if (/^(https?:|mailto:)/i.test(link.getAttribute("href") ?? "")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  } else {
    link.removeAttribute("href"); // a place inside of a note is none of this page's
  }
}

function frame(table) {
  const box = document.createElement("div");
  box.className = "table-box";
  box.tabIndex = 0; // wide tables scroll by keyboard too
  table.replaceWith(box);
  box.append(table);
}
