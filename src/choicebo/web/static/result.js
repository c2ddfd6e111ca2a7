// The page Result: comparing two, trying an option, brushing an axis. Without this script the forms work as plain forms.
(() => {
  "use strict";

  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const phone = matchMedia("(max-width: 640px)");
  const sections = new Map();

  async function part(form, id, signal) {
    const query = new URLSearchParams(new FormData(form));
    const response = await fetch(`${form.dataset.part}?${query}`, { credentials: "same-origin", signal });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const template = document.createElement("template");
    template.innerHTML = await response.text();
    const next = one(`#${id}`, template.content);
    if (next) one(`#${id}`)?.replaceWith(next);
  }

  // ---- two options side by side

  let marked = [];

  function compare(box) {
    const form = box.form;
    marked = marked.filter((each) => each.isConnected && each.checked && each !== box);
    if (box.checked) marked.push(box);
    while (marked.length > 2) marked.shift().checked = false;
    one("#compare-hint").textContent = ["Mark two of them.", "Mark one more.", ""][marked.length];
    if (marked.length === 2) part(form, "compared").then(() => one("#compared").scrollIntoView({ block: "nearest" })).catch(() => form.submit());
    else one("#compared").replaceChildren();
  }

  // ---- an option to try

  let timer = 0;
  let asking = null;

  function tryOption(form) {
    all("input[type=range]", form).forEach((input) => (one("output", input.parentElement).textContent = input.value));
    clearTimeout(timer);
    one("#tried").classList.add("stale");
    timer = setTimeout(() => {
      asking?.abort();
      asking = new AbortController();
      part(form, "tried", asking.signal).catch((error) => {
        if (error.name !== "AbortError") one("#tried").textContent = "No connection: try again in a moment.";
      });
    }, 120);
  }

  // ---- a part of an axis

  const brushes = new Map();

  function brush(axis, range) {
    const chart = axis.ownerSVGElement;
    const axes = all(".axis-group", chart);
    if (range) brushes.set(axis, range);
    else brushes.delete(axis);
    const texts = JSON.parse(axis.dataset.texts);
    const text = (share) => texts[Math.round(share * (texts.length - 1))];
    const line = one(".axis-hit", axis).getBBox();
    axis.classList.toggle("brushed", Boolean(range));
    if (range) {
      const mark = one(".brush", axis);
      mark.setAttribute("y", line.y + line.height * (1 - range[1]));
      mark.setAttribute("height", Math.max(line.height * (range[1] - range[0]), 2));
    }
    axis.setAttribute("aria-valuenow", range ? Math.round(50 * (range[0] + range[1])) : 50);
    axis.setAttribute("aria-valuetext", range ? `${text(range[0])} to ${text(range[1])}` : "all");
    let inside = 0;
    const lines = all("[data-at]", chart);
    lines.forEach((each) => {
      const at = each.dataset.at.split(" ").map(Number);
      const out = axes.some((one, d) => brushes.has(one) && (at[d] < brushes.get(one)[0] - 0.002 || at[d] > brushes.get(one)[1] + 0.002));
      each.classList.toggle("out", out);
      inside += !out;
    });
    one("#brushed").textContent = axes.some((one) => brushes.has(one)) ? `${inside} of ${lines.length} options.` : "";
  }

  function share(axis, event) {
    const line = one(".axis-hit", axis).getBoundingClientRect();
    return Math.min(Math.max((line.bottom - event.clientY) / line.height, 0), 1);
  }

  document.addEventListener("pointerdown", (event) => {
    const axis = event.target.closest(".axis-group[role=slider]");
    if (!axis || event.button) return;
    const start = share(axis, event);
    axis.setPointerCapture(event.pointerId);
    const move = (moved) => brush(axis, [Math.min(start, share(axis, moved)), Math.max(start, share(axis, moved))]);
    const end = (ended) => {
      axis.removeEventListener("pointermove", move);
      if (Math.abs(share(axis, ended) - start) < 0.02) brush(axis, null);
    };
    axis.addEventListener("pointermove", move);
    axis.addEventListener("pointerup", end, { once: true });
    axis.addEventListener("pointercancel", end, { once: true });
  });

  document.addEventListener("keydown", (event) => {
    const axis = event.target.closest?.(".axis-group[role=slider]");
    if (!axis) return;
    const up = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
    const known = brushes.get(axis);
    if (event.key === "Escape") brush(axis, null);
    else if (event.key === "Home" || event.key === "End") brush(axis, event.key === "Home" ? [0, 0.25] : [0.75, 1]);
    else if (!up) return;
    else if (!known) brush(axis, up > 0 ? [0.5, 1] : [0, 0.5]);
    else if (event.shiftKey) brush(axis, [Math.max(known[0] - (up < 0 ? 0.05 : 0), 0), Math.min(known[1] + (up > 0 ? 0.05 : 0), 1)]);
    else {
      const step = Math.min(Math.max(0.05 * up, -known[0]), 1 - known[1]);
      if (Math.abs(step) > 1e-9) brush(axis, [known[0] + step, known[1] + step]);
      else brush(axis, up > 0 ? [Math.min(known[0] + 0.05, 0.95), 1] : [0, Math.max(known[1] - 0.05, 0.05)]);
    }
    event.preventDefault();
  });

  // ---- the page

  document.addEventListener("change", (event) => {
    if (event.target.matches("#compare-form input[name=option]")) compare(event.target);
    else if (event.target.matches("#try-form select")) tryOption(event.target.form);
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches("#try-form input")) tryOption(event.target.form);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "try-form") return;
    event.preventDefault();
    tryOption(event.target);
  });

  function begin() {
    const result = one("#result");
    if (!result || result.classList.contains("scripted")) return;
    result.classList.add("scripted");
    marked = all("#compare-form input[name=option]:checked");
    brushes.clear();
    all(".axis-group").forEach((axis) => {
      const said = { tabindex: 0, role: "slider", "aria-label": `Part of ${axis.dataset.name}`, "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": 50, "aria-valuetext": "all" };
      Object.entries(said).forEach(([name, value]) => axis.setAttribute(name, value));
    });
    // A phone shows the headings of what is further down; what a person opened stays open when the result is refined.
    all("details.section", result).forEach((section) => {
      const target = location.hash && (section.matches(location.hash) || one(location.hash, section));
      section.open = sections.get(section.id) ?? (!phone.matches || Boolean(target));
      section.addEventListener("toggle", () => sections.set(section.id, section.open));
    });
    const form = one("#try-form");
    if (form && !one("#tried").childElementCount) tryOption(form);
  }

  begin();
  new MutationObserver(begin).observe(one("#main"), { childList: true });
})();
