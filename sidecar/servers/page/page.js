// Replaces parts of the page as the server sends them anew. The page is whole without it.
"use strict";

const state = document.getElementById("state");
const pause = document.getElementById("pause");
let source = null;
let paused = false;

function say(text) {
  if (state.textContent !== text) state.textContent = text;
}

function replace(part, html) {
  if (part.innerHTML === html) return;
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  if (fresh.innerHTML === part.innerHTML) return;
  const inside = part.contains(document.activeElement) ? document.activeElement : null;
  const same = inside && (inside.getAttribute("href") || inside.getAttribute("aria-label"));
  const scrolled = [...part.querySelectorAll(".wide")].map((each) => each.scrollLeft);
  part.replaceChildren(fresh.content);
  part.querySelectorAll(".wide").forEach((each, at) => { each.scrollLeft = scrolled[at] || 0; });
  if (!inside) return;
  const found = [...part.querySelectorAll("a[href], [tabindex]")].find((each) =>
    same === (each.getAttribute("href") || each.getAttribute("aria-label")));
  (found || document.getElementById("main")).focus({ preventScroll: true });
}

function follow() {
  const wanted = !paused && !document.hidden;
  if (!wanted && source) {
    source.close();
    source = null;
  }
  if (!wanted || source) return;
  source = new EventSource(document.body.dataset.stream);
  source.onopen = () => say("Live");
  source.onerror = () => say("Not connected: where Supervisor has ended, type supervisor dashboard again");
  source.onmessage = (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const part = document.getElementById(id);
      if (part) replace(part, html);
    }
  };
}

pause.addEventListener("click", () => {
  paused = !paused;
  pause.textContent = paused ? "Go on with updates" : "Pause updates";
  if (paused) say("Paused");
  follow();
});
document.addEventListener("visibilitychange", follow);
if (document.body.dataset.stream) {
  pause.hidden = false;
  follow();
}
