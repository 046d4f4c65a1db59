// Questions that found no answer: what the notes lack, and a draft to begin with.
import { get } from "./api.js";
import { empty, failure, h, toast } from "./dom.js";
import { t, when } from "./language.js";

const list = h("ul", { class: "rows" });
const message = h("div", {});
const more = h("button", { type: "button", class: "button", t: "more", hidden: true, on: { click: () => read(next) } });
let next = 0;

export function createQuestions(view) {
  view.append(
    h("h1", { t: "view_questions" }),
    h("p", { class: "soft lead", t: "questions_lead" }),
    message,
    list,
    more,
  );
  return { show: () => read(0) };
}

async function read(offset) {
  try {
    const { questions, next_offset: following } = await get(`/api/unanswered?offset=${offset}`);
    if (offset === 0) list.replaceChildren();
    list.append(...questions.map(row));
    next = following;
    more.hidden = following === null;
    message.replaceChildren(...(list.children.length ? [] : [empty("check", "questions_none")]));
  } catch (error) {
    message.replaceChildren(failure(error, () => read(offset)));
  }
}

function row({ id, question, locale, times, last_at: last }) {
  const button = h("button", { type: "button", class: "button small", icon: "edit", t: "draft", on: { click: draft } });
  const result = h("p", { class: "reason", hidden: true });

  async function draft() {
    button.disabled = true;
    try {
      const made = await get(`/api/unanswered/${encodeURIComponent(id)}/draft`, { method: "POST" });
      const path = made.source ?? made.path;
      result.replaceChildren(h("span", { t: "draft_done" }), " ", h("span", { class: "path" }, path));
      toast(t("draft_done"));
      button.hidden = true;
    } catch (error) {
      result.replaceChildren(error.message);
      button.disabled = false;
    }
    result.hidden = false;
  }

  return h(
    "li",
    { class: "row" },
    h("span", { class: "row-main" }, h("span", { class: "row-title", lang: locale }, question)),
    h(
      "span",
      { class: "row-facts" },
      h("span", { t: "times", values: { n: times } }),
      when(last),
      id !== undefined && button,
    ),
    result,
  );
}
