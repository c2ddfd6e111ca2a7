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
  let order = []; // positions in the order of marking; of the best and the worst, one that was taken back leaves a gap

  const one = (selector) => stage.querySelector(selector);
  const boxes = () => [...stage.querySelectorAll("input[type=checkbox]")];

  const way = () => one("form")?.dataset.answer ?? "subset";
  const places = () => order.filter((place) => place !== null);

  function mark(place, isOn) {
    if (way() === "best-worst") {
      const gap = order.indexOf(null);
      if (!isOn) order[order.indexOf(place)] = null;
      else if (gap >= 0) order[gap] = place;
      else order = [...order.slice(0, 1), place];
      if (!places().length) order = [];
    } else if (!isOn) order = order.filter((other) => other !== place);
    else order = way() === "best" || way() === "pair" ? [place] : [...order, place];
  }

  function draw() {
    boxes().forEach((box) => {
      const at = order.indexOf(Number(box.value));
      box.checked = at >= 0;
      const word = way() === "best-worst" ? ["best", "worst"][at] : way() === "ranking" ? String(at + 1) : "";
      if (!["best-worst", "ranking"].includes(way())) return;
      box.closest(".card").querySelector(".tick").textContent = at >= 0 ? word : "";
      const plain = box.getAttribute("aria-label").replace(/^Option (\d+)[^:]*:/, "Option $1:");
      box.setAttribute("aria-label", at >= 0 ? plain.replace(":", `, ${way() === "ranking" ? "place " : ""}${word}:`) : plain);
    });
    const label = one("[data-count]");
    const count = places().length;
    const verb = { subset: "Keep", ranking: "Rank" }[way()];
    if (label) label.textContent = count && verb ? `${verb} ${count} of ${boxes().length}` : label.dataset.count;
  }

  function show() {
    const hadFocus = stage.contains(document.activeElement) || (busy && document.activeElement === document.body);
    busy = false;
    clearTimeout(timer);
    waiting.textContent = "";
    root.classList.remove("busy");
    stage.innerHTML = model.get("html"); // written by the kernel, which escapes every value
    shownAt = performance.now();
    order = (one("form")?.dataset.order ?? "").split(",").filter(Boolean).map(Number);
    draw();
    if (hadFocus) (one("input[type=checkbox]") ?? one("button"))?.focus({ preventScroll: true });
    const told = one(".notice")?.textContent;
    announce.textContent = [told, boxes().length ? `Question ${one("form").dataset.question}, ${boxes().length} options.` : ""]
      .filter(Boolean)
      .join(" ");
  }

  function send(act) {
    if (busy) return;
    const kept = places();
    const needed = way() === "best-worst" ? 2 : 1;
    if (act === "keep" && boxes().length && kept.length < needed) {
      one(".notice").textContent = one("form").dataset.empty;
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

  root.addEventListener("change", (event) => {
    if (one(".notice")) one(".notice").textContent = "";
    if (!event.target.matches("input[type=checkbox]")) return;
    mark(Number(event.target.value), event.target.checked);
    draw();
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
    if (event.repeat && key !== "tab") done = /^[a-z0-9?=]$/.test(key);
    else if (box) box.click();
    else if (key === "enter" && !event.target.closest("button, summary")) press("keep");
    else if (key === "0") press("none");
    else if (key === "=") press("both");
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
