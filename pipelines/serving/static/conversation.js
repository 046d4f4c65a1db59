// One conversation: its turns, and the answer that is being written. It goes on while another one is looked at.
import { get, request } from "./api.js";
import { announce, failure, h } from "./dom.js";
import { t } from "./language.js";
import { events } from "./stream.js";
import { createTurn, keptTurn } from "./turn.js";

/** `changed` is called when a turn begins or ends, or the server has given the conversation its id. */
export function createConversation({ id = null, changed }) {
  const element = h("div", { class: "conversation", role: "log", label: "conversation" });
  let controller = null;

  const conversation = {
    element,
    id,
    documents: null,
    title: null,
    get running() {
      return controller !== null;
    },

    /** Read what the server keeps. */
    async load() {
      try {
        const kept = await get(`/api/sessions/${id}`);
        conversation.title = kept.title;
        conversation.documents = kept.documents;
        element.replaceChildren(...kept.turns.map((turn) => keptTurn(turn, { retry: conversation.ask })));
      } catch (error) {
        element.replaceChildren(failure(error));
      }
    },

    async ask(question, { page = null } = {}) {
      if (controller) return;
      controller = new AbortController();
      const turn = createTurn(question, { retry: (again) => conversation.ask(again) });
      element.append(turn.element);
      changed(conversation);
      const last = await hear(turn, question, page).catch((error) => {
        if (error.name !== "AbortError") turn.failed(error.message);
        return { complete: false, cancelled: error.name === "AbortError", answered: false };
      });
      controller = null;
      turn.end(last);
      announce(last.complete ? t("answer_done") : t("answer_not_done"));
      changed(conversation);
    },

    /** Stop the answer. The server ends the stream; if it does not, the reader leaves. */
    async cancel() {
      const running = controller;
      if (!running) return;
      if (conversation.id) {
        await request(`/api/sessions/${conversation.id}/cancel`, { method: "POST" }).catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 1500));
      }
      if (controller === running) running.abort();
    },
  };

  /** Events of one answer; resolves to its last word. */
  async function hear(turn, message, page) {
    const answer = await request("/api/chat", {
      method: "POST",
      json: { message, session_id: conversation.id, locale: null, page },
      signal: controller.signal,
    });
    const given = answer.headers.get("Vaultline-Session");
    if (given && given !== conversation.id) {
      conversation.id = given;
      changed(conversation);
    }
    for await (const { name, data } of events(answer)) {
      if (name === "tool_start") turn.searching(data);
      else if (name === "sources") turn.found(data.sources);
      else if (name === "text") turn.write(data.text);
      else if (name === "error") turn.failed(data.error.message);
      else if (name === "end") return data;
    }
    turn.failed(t("cut"));
    return { complete: false, answered: false, cancelled: false };
  }

  return conversation;
}
