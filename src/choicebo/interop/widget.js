// A question in a cell of a notebook: marks, keys, and waiting for the kernel.
const PATIENCE = 10000;

function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "choicebo";
  root.setAttribute("data-lm-suppress-shortcuts", "true"); // JupyterLab has its own meaning for 1, S and Enter
  const stage = document.createElement("div");
  const announce = document.createElement("p");
  announce.className = "sr";
  announce.setAttribute("role", "status");
  const waiting = document.createElement("p");
  waiting.className = "waiting";
  waiting.setAttribute("role", "status");
  root.append(stage, waiting, announce);
  el.append(root);

  let busy = false;
  let timer = null;
  let shownAt = performance.now();

  const one = (selector) => stage.querySelector(selector);
  const boxes = () => [...stage.querySelectorAll("input[type=checkbox]")];

  function count() {
    const marked = boxes().filter((box) => box.checked).length;
    const label = one("[data-count]");
    if (label) label.textContent = marked ? `Keep ${marked} of ${boxes().length}` : "Keep these";
  }

  function show() {
    const hadFocus = stage.contains(document.activeElement) || (busy && document.activeElement === document.body);
    busy = false;
    clearTimeout(timer);
    waiting.textContent = "";
    root.classList.remove("busy");
    stage.innerHTML = model.get("html"); // written by the kernel, which escapes every value
    shownAt = performance.now();
    count();
    if (hadFocus) (one("input[type=checkbox]") ?? one("button"))?.focus({ preventScroll: true });
    const told = one(".notice")?.textContent;
    announce.textContent = [told, boxes().length ? `Question ${one("form").dataset.question}, ${boxes().length} options.` : ""]
      .filter(Boolean)
      .join(" ");
  }

  function send(act) {
    if (busy) return;
    const kept = boxes().filter((box) => box.checked).map((box) => Number(box.value));
    if (act === "keep" && boxes().length && !kept.length) {
      one(".notice").textContent = "Nothing is marked yet: mark every one that no other beats, or skip.";
      announce.textContent = one(".notice").textContent;
      return;
    }
    busy = true;
    root.classList.add("busy");
    waiting.textContent = "Thinking about what to ask next.";
    timer = setTimeout(() => {
      if (!model.get("thinking")) {
        waiting.textContent = "The kernel has not answered. It may be busy with another cell; if it was restarted, run this cell again.";
      }
    }, PATIENCE);
    const question = Number(one("form")?.dataset.question);
    model.send({ act, question, kept, seconds: (performance.now() - shownAt) / 1000 });
  }

  root.addEventListener("change", () => {
    if (one(".notice")) one(".notice").textContent = "";
    count();
  });

  root.addEventListener("submit", (event) => {
    event.preventDefault();
    send(event.submitter?.value || "keep");
  });

  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    const box = /^[1-9]$/.test(key) ? boxes()[Number(key) - 1] : null;
    const press = (value) => one(`button[value=${value}]:not([disabled])`)?.click();
    let done = true;
    if (event.repeat && key !== "tab") done = /^[a-z0-9?]$/.test(key);
    else if (box) box.click();
    else if (key === "enter" && !event.target.closest("button, summary")) press("keep");
    else if (key === "0") press("none");
    else if (key === "s") press("skip");
    else if (key === "u") press("undo");
    else if (key === "?") one("details").open = !one("details").open;
    else done = false;
    if (done) event.preventDefault();
    event.stopPropagation();
  });

  model.on("change:turn", show);
  show();
  return () => {
    clearTimeout(timer);
    model.off("change:turn", show);
  };
}

export default { render };
