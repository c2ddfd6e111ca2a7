// One option at a time, as large as the screen allows; its neighbours are a key away. Without this script the picture opens by itself.
(() => {
  "use strict";

  const dialog = document.querySelector("#enlarged");
  const within = (selector) => dialog.querySelector(selector);
  const { options, press, words: marked } = window.choiceboMarks;
  let at = 0;

  const box = () => options()[at]?.querySelector("[data-mark]");

  function mark() {
    if (!box()) return; // an answer from before this page was loaded has brought another question
    const [text, isMarked] = marked(at);
    const keep = within("[data-keep]");
    keep.setAttribute("aria-pressed", isMarked);
    keep.textContent = text;
    dialog.classList.toggle("kept", isMarked);
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
    words.textContent = lines ? "" : all[at].dataset.description;
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
      press(at);
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
