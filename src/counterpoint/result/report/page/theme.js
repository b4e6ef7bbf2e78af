/** Light and dark: as the system says, until the reader chooses. */
import { say } from "./texts.js";

const ORDER = { auto: "light", light: "dark", dark: "auto" };

/** Return the theme after this one. */
export function nextTheme(theme) {
  return ORDER[theme];
}

/** Return what the button says. */
export function themeLabel(theme) {
  return say("colours", { theme: say(`colours.${theme}`) });
}

/** Whether the page is dark now. */
export function isDark(root = document.documentElement) {
  const chosen = root.dataset.theme;
  if (chosen) return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Put a theme on the page. */
export function applyTheme(theme, root = document.documentElement) {
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
}
