// Which documents a conversation may use.
import { get } from "./api.js";
import { ask } from "./dialogs.js";
import { h, toast } from "./dom.js";
import { allDocuments } from "./library.js";

/** Ask, and have the server keep it. undefined if nothing changed. */
export async function chooseDocuments(conversation) {
  const chosen = new Set(conversation.documents ?? []);
  const list = h("ul", { class: "choices" });
  const filter = h("input", { type: "search", placeholder: "filter_documents", label: "filter_documents" });
  const boxes = new Map();
  const rows = (await allDocuments()).map(({ source, title }) => {
    const box = h("input", { type: "checkbox", checked: chosen.has(source) });
    boxes.set(source, box);
    const text = h("span", {}, title || source, h("span", { class: "path" }, source));
    return h("li", { "data-words": `${title} ${source}`.toLowerCase() }, h("label", { class: "check" }, box, text));
  });
  list.append(...rows);
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase();
    for (const row of rows) row.hidden = !row.dataset.words.includes(words);
  });
  const documents = await ask("scope_title", [h("p", { class: "soft", t: "scope_text" }), filter, list], {
    confirm: "save",
    value: () => [...boxes].filter(([, box]) => box.checked).map(([source]) => source),
  });
  if (documents === null) return undefined;
  const wanted = documents.length ? documents : null;
  try {
    await get(`/api/sessions/${conversation.id}`, { method: "PATCH", json: { documents: wanted } });
    conversation.documents = wanted;
  } catch (error) {
    toast(error.message);
    return undefined;
  }
  return wanted;
}
