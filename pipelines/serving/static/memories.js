// What the assistant remembers of its reader, and a way to have it forget.
import { get, request } from "./api.js";
import { empty, failure, h, iconButton, toast } from "./dom.js";
import { when } from "./language.js";

const list = h("ul", { class: "rows" });
const message = h("div", {});

export function createMemories(view) {
  view.append(h("h1", { t: "view_memories" }), h("p", { class: "soft lead", t: "memories_lead" }), message, list);
  return { show: read };
}

async function read() {
  try {
    const { memories, enabled } = await get("/api/memories");
    list.replaceChildren(...memories.map(row));
    message.replaceChildren(
      ...(enabled ? [] : [h("div", { class: "notice" }, h("p", { t: "memories_off" }))]),
      ...(memories.length || !enabled ? [] : [empty("bookmark", "memories_none")]),
    );
  } catch (error) {
    message.replaceChildren(failure(error, read));
  }
}

function row({ id, kind, text, created_at: created }) {
  return h(
    "li",
    { class: "row" },
    h("span", { class: "row-main" }, h("span", { class: "row-title" }, text)),
    h(
      "span",
      { class: "row-facts" },
      h("span", { class: "badge", t: `memory_${kind}` }),
      when(created),
      iconButton("trash", "forget", () => forget(id), { values: { title: text } }),
    ),
  );
}

async function forget(id) {
  try {
    await request(`/api/memories/${encodeURIComponent(id)}`, { method: "DELETE" });
  } catch (error) {
    toast(error.message);
  }
  await read();
}
