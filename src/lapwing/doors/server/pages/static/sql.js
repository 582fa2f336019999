// Names are completed while SQL is written; the page works without it. The names are those that stand on the page.
"use strict";

(() => {
  const area = document.querySelector("[data-complete]");
  if (!area) return;
  const list = document.getElementById(area.dataset.complete);
  const names = [...document.querySelectorAll("[data-word]")].map((one) => ({ word: one.dataset.word, of: one.dataset.of || "" }));
  const most = 8;
  let at = -1;

  // What is being written before the caret: a name, and the table before its dot; nothing inside quotes.
  function begun() {
    const before = area.value.slice(0, area.selectionStart);
    if ((before.match(/'/g) || []).length % 2) return null;
    const found = /(?:([A-Za-z_]\w*)\.)?([A-Za-z_]\w*)?$/.exec(before);
    const [, table = "", word = ""] = found;
    return word || table ? { table, word } : null;
  }

  // A table may have another name here: "from patient p" and "join visit as v" say so.
  function table(name) {
    const said = new RegExp(`\\b(?:from|join)\\s+([A-Za-z_]\\w*)\\s+(?:as\\s+)?${name}\\b`, "i").exec(area.value);
    return said && !/^(?:where|group|order|join|on|left|limit|having)$/i.test(name) ? said[1] : name;
  }

  function matching({ table: given, word }) {
    const typed = word.toLowerCase(), owner = given && table(given);
    const known = names.some((one) => one.of === owner);
    const fit = names.filter((one) => (given ? (known ? one.of === owner : one.of) : true)
      && one.word.toLowerCase().startsWith(typed) && one.word.toLowerCase() !== typed);
    return [...new Set(fit.map((one) => one.word))].slice(0, most);
  }

  function hide() {
    list.hidden = true;
    list.replaceChildren();
    at = -1;
    area.removeAttribute("aria-activedescendant");
  }

  function show() {
    const what = begun();
    const words = what ? matching(what) : [];
    hide();
    if (!words.length) return;
    words.forEach((word, place) => {
      const item = document.createElement("li");
      item.id = `completion-${place}`;
      item.setAttribute("role", "option");
      item.textContent = word;
      list.append(item);
    });
    list.hidden = false;
  }

  function choose(place) {
    const items = [...list.children];
    at = (place + items.length) % items.length;
    items.forEach((item, number) => item.setAttribute("aria-selected", String(number === at)));
    area.setAttribute("aria-activedescendant", items[at].id);
  }

  function put(word, length) {
    area.focus();
    area.setRangeText(word, area.selectionStart - length, area.selectionEnd, "end");
    hide();
    area.dispatchEvent(new InputEvent("input", { bubbles: true }));
    hide();
  }

  area.addEventListener("input", show);
  area.addEventListener("blur", () => setTimeout(hide, 120));
  area.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); show(); if (!list.hidden) choose(0); return; }
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(event.key === "ArrowDown" ? at + 1 : at < 0 ? -1 : at - 1);
    } else if ((event.key === "Enter" || event.key === "Tab") && at >= 0 && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      put(list.children[at].textContent, begun()?.word.length || 0);
    } else if (event.key === "Escape") { event.preventDefault(); hide(); }
  });
  list.addEventListener("mousedown", (event) => {
    const item = event.target.closest("li");
    if (item) { event.preventDefault(); put(item.textContent, begun()?.word.length || 0); }
  });
  document.addEventListener("click", (event) => {
    const name = event.target.closest(".names [data-word]");
    if (name) put(name.dataset.word, 0);
  });
})();
