// One option at a time, as large as the screen allows; its neighbours are a key away. Without this script the picture opens by itself.
(() => {
  "use strict";

  const dialog = document.querySelector("#enlarged");
  const within = (selector) => dialog.querySelector(selector);
  const options = () => [...document.querySelectorAll("#choose .option")];
  let at = 0;

  const box = () => options()[at]?.querySelector("input[type=checkbox]");

  function mark() {
    if (!box()) return; // an answer from before this page was loaded has brought another question
    const keep = within("[data-keep]");
    keep.setAttribute("aria-pressed", box().checked);
    keep.textContent = box().checked ? "✓ Kept" : "Keep";
    dialog.classList.toggle("kept", box().checked);
  }

  function show(position) {
    const all = options();
    if (!all.length) return;
    at = (position + all.length) % all.length;
    const face = all[at].querySelector(".card-face");
    const title = face.querySelector(".card-title")?.textContent ?? "";
    within("h2").textContent = `Option ${at + 1} of ${all.length}${title ? `: ${title}` : ""}`;
    const picture = face.querySelector("img")?.cloneNode();
    const lines = face.querySelector(".lines")?.cloneNode(true);
    const words = document.createElement("p");
    words.textContent = lines ? "" : box().getAttribute("aria-label").replace(/^Option \d+: /, "");
    if (picture) picture.alt = "";
    within(".enlarged-face").replaceChildren(...[picture, lines, words].filter(Boolean));
    mark();
  }

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-enlarge]");
    if (!opener || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(Number(opener.dataset.enlarge));
    dialog.showModal();
  });

  // To the card that was looked at last, where Space marks it and Enter keeps the marked ones.
  dialog.addEventListener("close", () => box()?.focus());

  dialog.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (event.target === dialog || button?.matches("[data-close]")) dialog.close();
    else if (button?.matches("[data-step]")) show(at + Number(button.dataset.step));
    else if (button?.matches("[data-keep]")) {
      box()?.click();
      mark();
    }
  });

  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const number = Number(event.key);
    if (step) show(at + step);
    else if (event.key === "z") dialog.close();
    else if (number >= 1 && number <= options().length) show(number - 1);
    else return;
    event.preventDefault();
  });
})();
