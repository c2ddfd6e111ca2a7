// What is marked on the cards, whichever way a question is answered: kept, the best, the best and the worst, or in order.
// Without this script the same inputs work as plain ones, and places in an order are chosen from lists.
window.choiceboMarks = (() => {
  "use strict";

  const one = (selector, root = document) => root.querySelector(selector);
  const kind = () => one("#stage")?.dataset.answer ?? "subset";
  const inputs = (root = document) => [...root.querySelectorAll("#choose [data-mark]")];
  const input = (position, mark) => inputs().find((each) => Number(each.value) === position && (!mark || each.dataset.mark === mark));
  const options = () =>
    [...document.querySelectorAll("#choose .option")].sort((a, b) => Number(a.dataset.position) - Number(b.dataset.position));
  const chosen = (mark) => inputs().find((each) => each.checked && each.dataset.mark === mark);
  const name = (value) => `option ${Number(value) + 1}`;

  // ---- in order: the hidden field holds it, and boxes, badges and labels follow

  const order = () => (one("#choose [name=order]")?.value || "").split(",").filter(Boolean);

  function setOrder(values) {
    one("#choose [name=order]").value = values.join(",");
    inputs().forEach((box) => {
      const at = values.indexOf(box.value);
      box.checked = at >= 0;
      const option = box.closest(".option");
      one(".tick", option).textContent = at >= 0 ? at + 1 : "";
      const place = at >= 0 ? `, place ${at + 1}` : "";
      box.setAttribute("aria-label", `Option ${Number(box.value) + 1}${place}: ${option.dataset.description}`);
    });
  }

  function tell(text) {
    one("#announce").textContent = text;
  }

  // ---- what the page asks: what is marked, whether it is an answer, and how to say it on the button

  function tokens() {
    if (kind() === "ranking") return order();
    return inputs().filter((each) => each.checked).map((each) => `${each.dataset.mark} ${each.value}`);
  }

  function restore(known) {
    if (kind() === "ranking") setOrder(order().length ? order() : known);
    else if (!inputs().some((each) => each.checked)) {
      inputs().forEach((each) => (each.checked = known.includes(`${each.dataset.mark} ${each.value}`)));
    }
  }

  function isEnough() {
    return kind() === "best-worst" ? Boolean(chosen("best") && chosen("worst")) : tokens().length > 0;
  }

  function label(usual) {
    const count = tokens().length;
    const best = chosen("best");
    if (kind() === "subset") return count ? `Keep ${count} of ${options().length}` : usual;
    if (kind() === "ranking") return count ? `Rank ${count} of ${options().length}` : usual;
    if (kind() !== "best-worst") return best ? `Choose ${name(best.value)}` : usual;
    const worst = chosen("worst");
    const parts = [best && `best ${Number(best.value) + 1}`, worst && `worst ${Number(worst.value) + 1}`].filter(Boolean);
    const said = parts.join(", ");
    return said ? said[0].toUpperCase() + said.slice(1) : usual;
  }

  // What an option is marked as, and what a press would do if it is not.
  function words(position) {
    if (kind() === "ranking") {
      const at = order().indexOf(String(position));
      return at >= 0 ? [`✓ Place ${at + 1}`, true] : [`Place ${order().length + 1}`, false];
    }
    if (kind() === "best-worst") {
      if (input(position, "best").checked) return ["✓ Best", true];
      if (input(position, "worst").checked) return ["✓ Worst", true];
      return [chosen("best") ? "Worst" : "Best", false];
    }
    const marked = input(position).checked;
    if (kind() === "subset") return [marked ? "✓ Kept" : "Keep", marked];
    return [marked ? "✓ Chosen" : "Choose", marked];
  }

  // Mark an option, or take its mark back: a digit, a click on a card, the button of the large view.
  function press(position) {
    if (kind() !== "best-worst") {
      input(position)?.click();
      return;
    }
    const best = input(position, "best");
    const worst = input(position, "worst");
    if (!best) return;
    if (best.checked || worst.checked) {
      best.checked = worst.checked = false;
      best.dispatchEvent(new Event("change", { bubbles: true }));
    } else (chosen("best") ? worst : best).click();
  }

  document.addEventListener("change", (event) => {
    const changed = event.target;
    if (!changed.matches("#choose [data-mark]")) return;
    if (kind() === "ranking") {
      const rest = order().filter((value) => value !== changed.value);
      setOrder(changed.checked ? [...rest, changed.value] : rest);
      tell(changed.checked ? `Place ${rest.length + 1}: ${name(changed.value)}.` : `Taken back: ${name(changed.value)}.`);
    } else if (kind() === "best-worst") {
      const other = input(Number(changed.value), changed.dataset.mark === "best" ? "worst" : "best");
      if (changed.checked) other.checked = false;
      tell(changed.checked ? `${changed.dataset.mark}: ${name(changed.value)}.` : `Taken back: ${name(changed.value)}.`);
    }
  });

  document.addEventListener("click", (event) => {
    const face = event.target.closest("#choose .by-best-worst .card");
    if (face) press(Number(face.closest(".option").dataset.position));
  });

  // ---- drag, where there is a mouse: the cards are arranged from the best to the worst

  let dragged = null;

  document.addEventListener("dragstart", (event) => {
    dragged = event.target.closest?.("#choose .option[draggable]") ?? null;
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", "");
    dragged.classList.add("dragged");
  });

  document.addEventListener("dragover", (event) => {
    if (dragged && event.target.closest("#choose .cards")) event.preventDefault();
  });

  document.addEventListener("drop", (event) => {
    const onto = event.target.closest("#choose .option");
    if (!dragged || !onto) return;
    event.preventDefault();
    if (onto === dragged) return;
    const isBefore = onto.compareDocumentPosition(dragged) & Node.DOCUMENT_POSITION_PRECEDING;
    onto[isBefore ? "after" : "before"](dragged);
    const values = [...document.querySelectorAll("#choose .option")].map((option) => option.dataset.position);
    setOrder(values);
    one("#choose [data-mark]").dispatchEvent(new CustomEvent("arranged", { bubbles: true }));
    tell(`In order: ${values.map((value) => Number(value) + 1).join(", ")}.`);
  });

  document.addEventListener("dragend", () => {
    dragged?.classList.remove("dragged");
    dragged = null;
  });

  return { inputs, options, tokens, restore, isEnough, label, words, press };
})();
