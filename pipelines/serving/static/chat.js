// The chat: a place to ask, and the conversation above it.
import { get } from "./api.js";
import { config } from "./config.js";
import { createConversation } from "./conversation.js";
import { h, iconButton, part } from "./dom.js";
import { reading } from "./reader.js";
import { go, route } from "./router.js";
import { chooseDocuments } from "./scope.js";
import { sessionsChanged } from "./sessions.js";

const LONGEST = 4000; // characters of a question
const NEAR = 140; // pixels that count as the end

const open = new Map(); // conversations by id: one that is left goes on
let current = null;
let followed = true; // until the reader scrolls

const thread = h("div", { class: "thread" });
const input = h("textarea", {
  id: "question",
  rows: "1",
  maxlength: String(LONGEST),
  placeholder: "ask_placeholder",
  label: "question",
});
const send = h("button", { class: "send", icon: "send", label: "send" });
const stop = h("button", {
  type: "button",
  class: "send stop",
  icon: "stop",
  label: "stop",
  hidden: true,
  on: { click: cancel },
});
const scope = h("button", {
  type: "button",
  class: "chip",
  icon: "filter",
  t: "scope_all",
  hidden: true,
  on: { click: limit },
});
const hint = h("p", { class: "hint" });
const composer = h(
  "form",
  { class: "composer", on: { submit: submit } },
  h("div", { class: "composer-box" }, input, send, stop),
  h("div", { class: "composer-foot" }, scope, hint),
);
const latest = iconButton("send", "to_latest", () => toEnd(true), { hidden: true });
latest.classList.add("latest");

export function createChat(view) {
  view.append(
    h("h1", { class: "visually-hidden", t: "view_chat" }),
    thread,
    h("div", { class: "dock" }, latest, composer),
  );
  input.addEventListener("input", grow);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      composer.requestSubmit();
    }
  });
  for (const event of ["wheel", "touchmove", "keydown"]) {
    part("main").addEventListener(event, () => (followed = false), { passive: true });
  }
  part("main").addEventListener("scroll", () => (latest.hidden = atEnd()), { passive: true });
  new ResizeObserver(() => follow()).observe(thread);
  config().then(
    ({ assistant }) => {
      hint.replaceChildren(
        assistant.model
          ? h("span", { t: "hint_model", values: { model: assistant.model } })
          : h("span", { t: "hint_extractive" }),
      );
    },
    () => {},
  );
  return { show };
}

/** Show the conversation that the address names, or a new one. */
function show({ argument: id, parameters }) {
  if (!parameters.has("doc")) focus();
  if (current && (current.id ?? "") === id && (id || !current.element.children.length)) return;
  const known = open.get(id);
  current = known ?? createConversation({ id: id || null, changed });
  if (id && !known) {
    open.set(id, current);
    current.load().then(() => {
      toEnd();
      update();
    });
  }
  thread.replaceChildren(current.element, ...(id ? [] : [welcome()]));
  update();
  toEnd();
}

function submit(event) {
  event.preventDefault();
  const question = input.value.trim();
  if (!question || current.running) return;
  input.value = "";
  grow();
  ask(question);
}

function ask(question) {
  thread.querySelector(".welcome")?.remove();
  followed = true;
  current.ask(question, { page: reading() });
}

function cancel() {
  stop.disabled = true;
  current.cancel();
}

function changed(conversation) {
  if (conversation.id && !open.has(conversation.id)) {
    open.set(conversation.id, conversation);
    if (conversation === current && route().view === "chat") {
      go("chat", { argument: conversation.id, parameters: route().parameters, replace: true });
    }
  }
  if (conversation.id) sessionsChanged();
  if (conversation === current) update();
}

/** A conversation that was deleted. */
export function forget(id) {
  open.get(id)?.cancel();
  open.delete(id);
  if (current?.id === id) go("chat", { replace: true });
}

function update() {
  send.hidden = current.running;
  stop.hidden = !current.running;
  stop.disabled = false;
  scope.hidden = current.id === null;
  const count = current.documents?.length ?? 0;
  scope.replaceChildren(
    ...h("span", { icon: "filter", t: count ? "scope_some" : "scope_all", values: { n: count } }).childNodes,
  );
  scope.classList.toggle("on", count > 0);
}

async function limit() {
  const chosen = await chooseDocuments(current);
  if (chosen !== undefined) update();
  focus();
}

function grow() {
  input.style.height = "auto";
  input.style.height = `${Math.min(input.scrollHeight, 220)}px`;
}

function atEnd() {
  const box = part("main");
  return box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
}

// The end of what arrives, but no further than to have the question at the top: reading begins there.
function follow() {
  if (!followed || !current?.running) return;
  const box = part("main");
  const turn = current.element.lastElementChild;
  const top = turn.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop - 24;
  box.scrollTop = Math.min(top, box.scrollHeight - box.clientHeight);
}

function toEnd(smooth = false) {
  const box = part("main");
  followed = true;
  box.scrollTo({ top: box.scrollHeight, behavior: smooth ? "smooth" : "auto" });
}

// On a touch screen the keyboard would cover half of the page.
function focus() {
  if (matchMedia("(hover: hover)").matches) input.focus();
}

/** What stands in an empty conversation: what this is, and notes to ask about. */
function welcome() {
  const ideas = h("ul", { class: "ideas" });
  get("/api/documents?state=indexed&limit=200").then(
    ({ documents }) => {
      const titled = documents.filter(({ title, media_type: type }) => title && type === "markdown");
      const step = Math.max(1, Math.floor(titled.length / 4));
      const chosen = titled.filter((_, index) => index % step === Math.floor(step / 2)).slice(0, 4);
      ideas.append(
        ...chosen.map(({ title }) =>
          h("li", {}, h("button", { type: "button", class: "idea", on: { click: () => ask(title) } }, title)),
        ),
      );
    },
    () => {},
  );
  return h(
    "div",
    { class: "welcome" },
    h("img", { src: new URL("icon.svg", import.meta.url).pathname, alt: "", width: "56", height: "56" }),
    h("p", { class: "welcome-title", t: "welcome" }),
    h("p", { class: "soft", t: "welcome_more" }),
    ideas,
  );
}
