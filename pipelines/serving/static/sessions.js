// The conversations in the sidebar.
import { get, request } from "./api.js";
import { confirmed, askText } from "./dialogs.js";
import { h, iconButton, part, toast } from "./dom.js";
import { t } from "./language.js";
import { onRoute, route } from "./router.js";

let timer = null;
let deleted = () => {};
let newest = [];

/** `forget` is called with the id of a conversation that was deleted. */
export function createSessions({ forget }) {
  deleted = forget;
  onRoute(mark);
  // Other tabs and other people have conversations too.
  document.addEventListener("visibilitychange", () => !document.hidden && refresh());
  refresh();
}

/** Something happened in a conversation: read the list again, soon. */
export function sessionsChanged() {
  clearTimeout(timer);
  timer = setTimeout(refresh, 250);
}

async function refresh() {
  try {
    ({ sessions: newest } = await get("/api/sessions?limit=500"));
  } catch {
    return; // the views tell of a server that is away
  }
  part("sessions").replaceChildren(...newest.map(row));
  part("no-sessions").hidden = newest.length > 0;
  mark();
}

function row(session) {
  const title = session.title || t("untitled");
  return h(
    "li",
    { class: "session" },
    h(
      "a",
      { href: `#/chat/${encodeURIComponent(session.id)}`, "data-session": session.id },
      h("span", { class: "session-title" }, title),
      session.unanswered &&
        h("span", { class: "dot warn" }, h("span", { class: "visually-hidden", t: "has_unanswered" })),
    ),
    h(
      "span",
      { class: "session-tools" },
      iconButton("edit", "rename", () => rename(session), { values: { title } }),
      iconButton("trash", "delete", () => remove(session), { values: { title } }),
    ),
  );
}

async function rename(session) {
  const title = await askText("rename_title", session.title ?? "", { label: "name", confirm: "save" });
  if (title === null || title === session.title) return;
  await attempt(() => get(`/api/sessions/${session.id}`, { method: "PATCH", json: { title } }));
}

async function remove(session) {
  const sure = await confirmed("delete_title", {
    text: "delete_text",
    values: { title: session.title || t("untitled") },
    confirm: "delete_it",
  });
  if (!sure) return;
  await attempt(async () => {
    await request(`/api/sessions/${session.id}`, { method: "DELETE" });
    deleted(session.id);
  });
}

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    toast(error.message);
  }
  await refresh();
}

function mark() {
  const { view, argument } = route();
  for (const link of part("sessions").querySelectorAll("a")) {
    if (view === "chat" && link.dataset.session === argument) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}
