// A classic script in the head, so that a chosen theme is there before the first paint.
try {
  const chosen = localStorage.getItem("chatsite:theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is switched off: the system's theme applies.
}
