// One question and its answer, as it arrives or as it is kept.
import { card } from "./cards.js";
import { copy } from "./code.js";
import { h, iconButton } from "./dom.js";
import { mark } from "./language.js";
import { render } from "./markdown.js";

const PAUSE = 60; // milliseconds between two drawings of an answer that arrives

/** The elements of a turn, and what events do to them. `retry` asks the question again. */
export function createTurn(question, { retry }) {
  const sources = new Map();
  let text = "";
  let timer = null;
  let searched = false;
  const trace = h(
    "p",
    { class: "trace" },
    h("span", { class: "spinner", "aria-hidden": "true" }),
    h("span", { t: "thinking" }),
  );
  const answer = h("div", { class: "answer prose" });
  const notes = h("div", { class: "turn-notes" });
  const cards = h("ol", { class: "cards" });
  const more = h("details", { class: "more-sources", hidden: true }, h("summary", {}), h("ol", { class: "cards" }));
  const shelf = h("section", { class: "shelf", hidden: true }, h("h3", { t: "sources" }), cards, more);
  const foot = h("div", { class: "turn-foot" });
  const element = h(
    "article",
    { class: "turn", "aria-busy": "true" },
    h("h2", { class: "question" }, question),
    trace,
    answer,
    notes,
    shelf,
    foot,
  );

  answer.addEventListener("click", (event) => {
    const cite = event.target.closest(".cite");
    if (cite) shelf.querySelector(`[data-source="${cite.dataset.cite}"]`)?.click();
  });

  function draw() {
    clearTimeout(timer);
    timer = null;
    answer.replaceChildren(render(text, { citations: new Set(sources.keys()) }));
    for (const cite of answer.querySelectorAll(".cite")) {
      const source = sources.get(Number(cite.dataset.cite));
      const before = cite.previousSibling;
      if (before?.nodeType === Node.TEXT_NODE) before.data = before.data.replace(/ $/, "\u00a0"); // no lonely number
      mark(cite, "tLabel", "source_n", { n: cite.dataset.cite, title: source.title || source.source });
    }
  }

  /** Cited passages as cards; what was read besides, folded. All of them while the answer is still open. */
  function shelve({ done }) {
    const named = new Set([...answer.querySelectorAll(".cite")].map((cite) => Number(cite.dataset.cite)));
    const all = [...sources.values()];
    const main = done && named.size ? all.filter(({ n }) => named.has(n)) : all;
    const rest = all.filter((source) => !main.includes(source));
    cards.replaceChildren(...main.map((source) => card(source, { n: source.n })));
    more.lastElementChild.replaceChildren(...rest.map((source) => card(source, { n: source.n, cited: false })));
    more.firstElementChild.replaceChildren(h("span", { t: "more_sources", values: { n: rest.length } }));
    more.hidden = rest.length === 0;
    shelf.hidden = all.length === 0;
  }

  function note(kind, ...children) {
    notes.append(h("div", { class: `notice ${kind}` }, ...children));
  }

  return {
    element,
    get text() {
      return text;
    },

    searching({ query, rewritten, name }) {
      searched = true;
      const key = name === "search_knowledge_base" ? (rewritten ? "searched_as" : "searched") : "looking";
      trace.replaceChildren(
        h("span", { class: "spinner", "aria-hidden": "true" }),
        h("span", { t: key, values: { query: query ?? "" } }),
      );
    },

    found(list) {
      for (const source of list) sources.set(source.n, source);
      if (!text) shelve({ done: false });
    },

    write(delta) {
      text += delta;
      timer ??= setTimeout(draw, PAUSE);
    },

    failed(message) {
      note("bad", h("p", { role: "alert" }, message));
    },

    /** The last word: what the answer was and what it cost. */
    end({ complete, answered, cancelled, removed_citations: removed = 0, usage = {} }) {
      draw();
      shelve({ done: true });
      trace.querySelector(".spinner")?.remove();
      trace.hidden = !searched;
      if (cancelled) note("quietly", h("p", { t: "stopped" }));
      else if (!complete) note("bad", h("p", { t: "incomplete" }));
      else if (!answered) note("quietly", h("a", { href: "#/questions", t: "unanswered" }));
      if (removed) note("quietly", h("p", { t: "removed_citations", values: { n: removed } }));
      foot.replaceChildren(
        text && iconButton("copy", "copy_answer", () => copy(text)),
        iconButton("retry", "ask_again", () => retry(question)),
        h("span", { class: "usage" }, ...spent(usage)),
      );
      element.removeAttribute("aria-busy");
    },
  };
}

/** A turn as the server keeps it. */
export function keptTurn(kept, options) {
  const turn = createTurn(kept.question, options);
  if (kept.query && kept.query !== kept.question) {
    turn.searching({ name: "search_knowledge_base", query: kept.query, rewritten: true });
  }
  turn.found(kept.sources);
  turn.write(kept.answer ?? "");
  turn.end(kept);
  return turn.element;
}

function spent(usage) {
  if (!usage?.model) return [];
  const tokens = (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
  return [
    h("span", {}, usage.model),
    tokens > 0 && h("span", { t: "tokens", values: { tokens } }),
    usage.cost ? h("span", {}, `$${usage.cost.toFixed(usage.cost < 0.01 ? 4 : 2)}`) : null,
  ];
}
