// The pages work without this file. With it, a form shows what it would cost while it is being filled in.
"use strict";

(() => {
  document.documentElement.classList.add("scripted");
  const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy("lapwing", { createHTML: (text) => text })
    : { createHTML: (text) => text };

  // What came from our own server is put in the place of what has the same id; the element itself stays, so that
  // a screen reader goes on listening to it and the focus is not lost outside.
  function put(text) {
    const holder = document.createElement("template");
    holder.innerHTML = policy.createHTML(text);
    for (const fresh of holder.content.querySelectorAll("[data-part]")) {
      const old = document.getElementById(fresh.id);
      if (!old) continue;
      const had = old.contains(document.activeElement) ? document.activeElement : null;
      const open = [...old.querySelectorAll("details[id][open]")].map((one) => one.id);
      old.replaceChildren(...fresh.childNodes);
      open.forEach((id) => { const one = document.getElementById(id); if (one) one.open = true; });
      if (had && had.id) document.getElementById(had.id)?.focus();
      else if (had && had.name) {
        const same = [...old.querySelectorAll(`[name="${CSS.escape(had.name)}"]`)];
        (same.find((one) => one.value === had.value) || same[0])?.focus();
      }
    }
  }

  // ---- a form that is looked at while it is filled in

  // One request at a time, at once if none is under way; what changes meanwhile goes with the next. So the page is as
  // quick as the server, and a slow server is never asked faster than it answers.
  function live(form) {
    let running = false, next = null, waiting = null;

    // What is priced now, and what the button says about it.
    const offer = () => `${form.elements.shown?.value} ${document.getElementById("ask")?.textContent}`;

    async function send(parts, button) {
      if (running) {
        next = { parts: new Set([...(next?.parts || []), ...parts]), button: button || next?.button };
        return;
      }
      running = true;
      const body = new URLSearchParams(new FormData(form));
      if (button) body.append(button.name, button.value);
      const places = [...parts].map((id) => document.getElementById(id)).filter(Boolean);
      places.forEach((place) => place.classList.add("busy"));
      try {
        const answer = await fetch(form.dataset.live, {
          method: "POST", body, headers: { "X-Part": [...parts].join(" ") }, credentials: "same-origin",
        });
        if (answer.status === 401) return location.assign(`/login?${new URLSearchParams({ next: location.pathname + location.search, ended: "1" })}`);
        const text = await answer.text();
        if (answer.ok && !(next && !button)) {
          put(text);
          const link = answer.headers.get("X-Link");
          if (link) history.replaceState(null, "", link);
          if (button) settle(button);
          form.dispatchEvent(new CustomEvent("shown"));
        }
      } catch {
        say(document.body.dataset.unreachable);
      } finally {
        running = false;
        places.forEach((place) => place.classList.remove("busy"));
        if (next) { const one = next; next = null; send(one.parts, one.button); }
        else if (waiting) { const seen = waiting; waiting = null; press(seen); }
      }
    }

    // Whoever pressed while a price was under way asks what they saw, if it stands; else they see the new price first.
    function press(seen) {
      if (seen === offer()) document.getElementById("ask").click();
      else say(form.dataset.repriced, "status");
    }

    function say(words, role = "alert") {
      const place = document.getElementById("outcome");
      const note = document.createElement("p");
      note.className = "note warn";
      note.setAttribute("role", role);
      note.textContent = words;
      place.prepend(note);
    }

    // After a button has changed the panels, the focus goes where one would go on.
    function settle(button) {
      const [verb, panel] = button.value.split(":");
      if (verb === "undo" && document.getElementById("undo")) return document.getElementById("undo").focus();
      const place = /^values?:([^|]*)/.exec(button.value)?.[1];
      if (place) return form.querySelector(`[data-place="${CSS.escape(place)}"]`)?.focus();
      const box = document.getElementById(`panel-${panel}`);
      const rows = box ? box.querySelectorAll(".crit") : [];
      const goal = verb === "add" && rows.length
        ? rows[rows.length - 1].querySelector("input:not([type=hidden]), select")
        : verb === "add-panel" ? [...form.querySelectorAll(".picker summary")].pop()
        : (box || form).querySelector(".picker summary");
      if (verb === "add-panel" && goal) goal.click();
      if (goal) goal.focus();
    }

    form.addEventListener("input", (event) => {
      if (event.target.closest("[data-search]")) return;
      send(new Set((event.target.closest("[data-redraws]")?.dataset.redraws || "outcome").split(" ")));
    });
    form.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-parts]");
      if (!button) return;
      event.preventDefault();
      send(new Set(button.dataset.parts.split(" ")), button);
    });
    form.addEventListener("submit", (event) => {
      if (!running || event.submitter?.id !== "ask") return;
      event.preventDefault();
      waiting = offer();
    });
    form.addEventListener("stale", () => send(new Set(["outcome"])));
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        form.querySelector("button.primary")?.click();
      } else if (event.key === "Enter" && event.target.matches("input:not([type=submit])")) {
        event.preventDefault(); // Enter in a field must never spend
      } else if (event.key === "Escape" && event.target.closest("details[open].picker")) {
        const box = event.target.closest("details");
        box.open = false;
        box.querySelector("summary").focus();
      }
    });
  }

  // ---- finding a criterion

  // One search at a time, and the newest next: what is shown is never older than what was typed. Whoever pressed Enter
  // meanwhile means the first that will be found.
  let searching = false, wanted = null, entered = false;
  async function find(input) {
    if (searching) { wanted = input; return; }
    searching = true;
    try {
      const words = new URLSearchParams({ q: input.value, panel: input.dataset.panel || "0", place: input.dataset.place || "", of: input.dataset.of || "" });
      const answer = await fetch(`${input.dataset.search}?${words}`).catch(() => null);
      const text = answer?.ok && await answer.text().catch(() => null);
      if (text) put(text);
      const list = document.getElementById(input.getAttribute("aria-controls"));
      if (list) list.scrollTop = 0;
      if (text && entered && !wanted) list?.querySelector("li button")?.click();
    } finally {
      searching = false;
      if (wanted) { const one = wanted; wanted = null; find(one); } else entered = false;
    }
  }
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-search]")) find(event.target);
  });
  document.addEventListener("keydown", (event) => {
    const box = event.target.closest(".picker .list");
    if (!box || !["ArrowDown", "ArrowUp", "Enter"].includes(event.key)) return;
    const items = [...box.querySelectorAll("li button")];
    const at = items.indexOf(document.activeElement);
    if (event.key === "Enter") {
      if (!event.target.matches("[data-search]")) return;
      event.preventDefault();
      if (searching) entered = true; else items[0]?.click();
      return;
    }
    event.preventDefault();
    const next = event.key === "ArrowDown" ? at + 1 : at - 1;
    (next < 0 ? box.querySelector("[data-search]") : items[Math.min(next, items.length - 1)])?.focus();
  });
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.("details.picker") && event.target.open) event.target.querySelector("[data-search]")?.focus();
  }, true);

  // ---- what was asked on one page moves the account on all that are open

  // What does not come leaves the page as it is: the server may be away, or whoever asked may have gone on.
  async function parsed(place) {
    const answer = await fetch(place, { credentials: "same-origin" }).catch(() => null);
    const text = answer?.ok && !answer.redirected && await answer.text().catch(() => null);
    if (!text) return null;
    const holder = document.createElement("template");
    holder.innerHTML = policy.createHTML(text);
    return holder;
  }

  const others = "BroadcastChannel" in window ? new BroadcastChannel("lapwing") : null;
  async function refresh() {
    document.querySelectorAll("form[data-live]").forEach((form) => form.dispatchEvent(new CustomEvent("stale")));
    const places = [...document.querySelectorAll("[data-fresh]")];
    if (!places.length) return;
    const holder = await parsed(location.href);
    for (const place of holder ? places : []) {
      const fresh = holder.content.querySelector(`#${CSS.escape(place.id)}`);
      if (fresh && !place.contains(document.activeElement)) place.replaceChildren(...fresh.childNodes);
    }
    late();
  }
  // What takes a while to work out comes after the page, in the place that waits for it.
  async function late() {
    for (const place of document.querySelectorAll("[data-late]")) {
      const holder = await parsed(place.dataset.late);
      const fresh = holder?.content.querySelector(`#${CSS.escape(place.id)}`);
      if (fresh) place.replaceWith(fresh);
    }
  }
  late();
  others?.addEventListener("message", refresh);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  if (document.querySelector("[data-told]")) others?.postMessage("told");

  // ---- the ticket stays in sight: below the header if the window has room for all of it, else with its end

  const side = document.getElementById("side"), header = document.querySelector(".top");
  if (side) {
    const gap = 16;
    const fit = () => {
      const top = Math.min((header?.offsetHeight || 0) + gap, window.innerHeight - side.offsetHeight - gap);
      side.style.setProperty("--side-top", `${top}px`);
    };
    new ResizeObserver(fit).observe(side);
    window.addEventListener("resize", fit);
  }

  // ---- small things

  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      const text = document.getElementById(copy.dataset.copy).textContent.trim();
      const words = copy.textContent;
      try { await navigator.clipboard.writeText(text); copy.textContent = document.body.dataset.copied; } catch { copy.textContent = document.body.dataset.select; }
      setTimeout(() => { copy.textContent = words; }, 1500);
    }
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented) return;
    if (form.dataset.sent) return event.preventDefault();  // a second press asks nothing again
    if (form.matches("[data-once]")) {
      form.dataset.sent = "1";
      const button = event.submitter;
      if (button) { button.setAttribute("aria-busy", "true"); button.dataset.words = button.textContent; button.textContent = document.body.dataset.asking; }
    }
  });
  window.addEventListener("pageshow", () => document.querySelectorAll("[data-sent]").forEach((form) => delete form.dataset.sent));
  document.querySelectorAll("form[data-live]").forEach(live);
  if (document.activeElement === document.body) document.querySelector("[autofocus]")?.focus();  // it was not shown before
})();
