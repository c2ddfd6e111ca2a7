// Set-up and keeping house: a field that something is told of is marked as such. Without this script the pages work as plain forms.
(() => {
  "use strict";

  function mark() {
    for (const told of document.querySelectorAll(".field-error")) {
      const field = document.getElementById(told.id.replace("error-", "field-"));
      if (!field) continue;
      if (told.textContent.trim()) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
  }

  document.addEventListener("htmx:afterSettle", mark);
})();
