// The choice page: keys, sending without loss, waiting. Without this script the same forms work as plain forms.
(() => {
  "use strict";

  const one = (selector, root = document) => root.querySelector(selector);
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const PENDING = `pending ${location.pathname}`;
  let shownAt = performance.now();
  let sending = false;
  let source = null;

  // ---- notices

  function notice(text) {
    const place = one("#notice");
    if (place) place.textContent = text;
  }

  function connection(text) {
    const place = one("#connection");
    place.textContent = text;
    place.hidden = !text;
  }

  // ---- sending: the same act is sent until the server has it; the server takes it once

  async function fetchPart(address, options = {}) {
    const response = await fetch(address, {
      ...options,
      headers: { "HX-Request": "true" },
      credentials: "same-origin",
      signal: AbortSignal.timeout(30000),
    });
    if (response.status >= 502 || response.status === 429) throw new Error(`status ${response.status}`);
    return response;
  }

  async function persist(address, options, lost) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const response = await fetchPart(address, options);
        const text = await response.text();
        connection("");
        return { ok: response.ok, text };
      } catch {
        connection(lost);
        await sleep(Math.min(500 * 2 ** attempt, 5000));
      }
    }
  }

  async function send(address, body) {
    if (sending) return;
    sending = true;
    sessionStorage.setItem(PENDING, JSON.stringify({ address, body }));
    const form = { method: "POST", body: new URLSearchParams(body) };
    const answer = await persist(address, form, "No connection. Your answer is kept here and sent as soon as there is one.");
    sessionStorage.removeItem(PENDING);
    sending = false;
    if (answer.ok) {
      sessionStorage.removeItem(memory(one("#stage")));
      swap(answer.text, "stage");
    }
    else notice(partOf(answer.text, ".failure")?.textContent ?? "That did not work: load the page again.");
  }

  function partOf(text, selector) {
    const template = document.createElement("template");
    template.innerHTML = text;
    return one(selector, template.content);
  }

  function swap(text, id) {
    const next = partOf(text, `#${id}`);
    const old = document.getElementById(id);
    if (!next || !old) {
      location.reload();
      return;
    }
    const hadFocus = old.contains(document.activeElement);
    source?.close();
    old.replaceWith(next);
    window.htmx?.process(next);
    begin(next);
    next.querySelectorAll("[data-thinking]").forEach(begin);
    if (id !== "stage") return;
    window.scrollTo(0, 0);
    if (hadFocus) (one("[data-mark]", next) ?? one("#main")).focus({ preventScroll: true, focusVisible: false });
    const count = next.querySelectorAll("#choose .option").length;
    one("#announce").textContent = count ? `Question ${next.dataset.question}, ${count} options.` : "Thinking.";
  }

  // ---- waiting for what is being computed

  function wait(part) {
    const seconds = one("[data-seconds]", part);
    const load = async () => {
      const answer = await persist(part.dataset.next, {}, "No connection. Trying again.");
      if (part.isConnected) swap(answer.text, part.id);
    };
    source = new EventSource(part.dataset.thinking);
    source.addEventListener("thinking", (event) => {
      connection("");
      const told = JSON.parse(event.data).seconds;
      if (told >= 2) seconds.textContent = `(${told} s)`;
    });
    source.addEventListener("ready", () => {
      source.close();
      load();
    });
    source.addEventListener("failed", (event) => {
      source.close();
      one(".ghosts", part)?.classList.remove("ghosts-busy");
      const text = one(".thinking-text > span", part);
      text.textContent = `${JSON.parse(event.data).message} `;
      const again = document.createElement("button");
      again.type = "button";
      again.textContent = "Try again";
      again.addEventListener("click", load);
      text.append(again);
    });
    source.addEventListener("error", () => {
      if (!part.isConnected) return;
      connection("No connection. Trying again.");
      if (source.readyState === EventSource.CLOSED) setTimeout(load, 1500);
    });
  }

  // ---- the question

  const marks = window.choiceboMarks; // of the page with a question

  function memory(stage) {
    return `kept ${stage.dataset.study} ${stage.dataset.question}`;
  }

  function count(stage) {
    const label = one("[data-count]", stage);
    if (!label) return;
    label.textContent = marks.label(label.dataset.count);
    sessionStorage.setItem(memory(stage), marks.tokens().join(","));
  }

  function begin(part) {
    if (part.dataset.thinking) {
      wait(part);
      return;
    }
    if (!part.dataset.question) return;
    shownAt = performance.now();
    marks.restore((sessionStorage.getItem(memory(part)) ?? "").split(",").filter(Boolean));
    count(part);
  }

  function answer(act) {
    const form = one("#choose");
    if (!form) return;
    if (act === "keep" && !marks.isEnough()) {
      notice(form.dataset.empty);
      return;
    }
    form.elements.seconds.value = ((performance.now() - shownAt) / 1000).toFixed(1);
    const body = [...new FormData(form)].filter(([name]) => name !== "act");
    body.push(["act", act]);
    send(form.action, body);
  }

  function undo() {
    const form = one("#undo");
    if (form && !one("button[form=undo]")?.disabled) send(form.action, [...new FormData(form)]);
  }

  for (const change of ["change", "arranged"]) {
    document.addEventListener(change, (event) => {
      if (event.target.closest("#choose")) {
        notice("");
        count(one("#stage"));
      }
    });
  }

  document.addEventListener("submit", (event) => {
    if (event.target.id === "choose") {
      event.preventDefault();
      answer(event.submitter?.value || "keep");
    } else if (event.target.id === "undo") {
      event.preventDefault();
      undo();
    }
  });

  document.addEventListener("keydown", (event) => {
    if (!one("#stage") || one("dialog:modal") || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (target.matches("input:not([data-mark]), textarea, select")) return;
    const key = event.key.toLowerCase();
    const digit = /^[1-9]$/.test(key) && Number(key) <= marks.options().length;
    const press = (selector) => {
      const button = one(selector);
      if (button && !event.repeat) button.click();
      return button;
    };
    let done = true;
    if (digit) {
      if (!event.repeat) marks.press(Number(key) - 1);
    } else if (key === "enter" && !target.closest("button, a, summary")) press("button[value=keep]");
    else if (key === "0") press("button[value=none]");
    else if (key === "=") press("button[value=both]");
    else if (key === "s") press("button[value=skip]");
    else if (key === "u") press("button[form=undo]");
    else if (key === "z") (one("[data-enlarge]", target.closest(".option") ?? document) ?? document.body).click();
    else if (key === "?") {
      const why = one("#why");
      if (why) why.open = !why.open;
    } else if (key === "escape" && one("#why")?.open) one("#why").open = false;
    else done = false;
    if (done) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const why = one("#why[open]");
    if (why && !why.contains(event.target)) why.open = false;
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      navigator.clipboard?.writeText(one(copy.dataset.copy).textContent.trim()).then(() => (copy.textContent = "Copied"));
    }
  });

  // ---- how to choose: before the first question, and whenever it is asked for

  const coach = one("#coach");
  if (coach?.open) {
    coach.removeAttribute("open"); // close() would tell of an end
    coach.showModal();
  }
  coach?.addEventListener("close", () => {
    shownAt = performance.now();
    const form = one("form", coach);
    fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual" }).catch(() => {});
  });
  coach?.addEventListener("submit", (event) => {
    event.preventDefault();
    coach.close();
  });
  document.addEventListener("click", (event) => {
    if (!coach || !event.target.closest("a.how")) return;
    event.preventDefault();
    coach.showModal();
  });

  // ---- what htmx sends on the other pages: a failure is told, never swallowed

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id === "preview") event.detail.shouldSwap = true;
  });
  document.addEventListener("htmx:responseError", (event) => {
    if (one("#stage") || event.detail.target.id === "preview") return;
    connection(partOf(event.detail.xhr.responseText, ".failure")?.textContent ?? "That did not work: load the page again.");
  });
  document.addEventListener("htmx:sendError", () => {
    if (one("#stage")) return;
    connection("No connection, or the upload was too large. Try again.");
  });
  document.addEventListener("htmx:beforeRequest", () => {
    if (!one("#stage")) connection("");
  });

  // ---- times: written in UTC, shown as the clock on this wall has them

  function localTimes(part) {
    const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric" });
    const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
    part.querySelectorAll("time[datetime]").forEach((time) => {
      const at = new Date(time.dateTime);
      time.textContent = `${day.format(at)}, ${clock.format(at)}`;
    });
  }

  document.addEventListener("htmx:load", (event) => localTimes(event.detail.elt));
  localTimes(document);

  document.querySelectorAll("[data-question], [data-thinking]").forEach(begin);
  const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? "null");
  if (pending && one("#stage")) send(pending.address, pending.body);
})();
