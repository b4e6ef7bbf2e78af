import js from "@eslint/js";

const BROWSER = [
  ...[
    "document",
    "window",
    "location",
    "history",
    "localStorage",
    "matchMedia",
    "print",
    "URL",
    "Blob",
  ],
  ...["fetch", "sessionStorage", "AbortController", "TextDecoderStream"],
  ...["Response", "DecompressionStream", "atob", "setTimeout", "clearTimeout", "structuredClone"],
];
// What turns text into markup or code has no place in a page that shows other people's data.
const MARKUP = [
  "innerHTML",
  "outerHTML",
  "insertAdjacentHTML",
  "write",
  "writeln",
  "setHTMLUnsafe",
];

export default [
  js.configs.recommended,
  {
    files: ["src/**/*.js"],
    languageOptions: { globals: Object.fromEntries(BROWSER.map((name) => [name, "readonly"])) },
    rules: {
      "no-restricted-properties": [
        "error",
        ...MARKUP.map((property) => ({ property, message: "Data is shown as text." })),
      ],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-var": "error",
      "prefer-const": "error",
      eqeqeq: "error",
      "no-shadow": "error", // a local name hid the function that says texts
      "max-lines": ["error", 200],
      "max-lines-per-function": ["error", 60],
      complexity: ["error", 14],
    },
  },
  {
    files: ["tests/**/*.js"],
    languageOptions: { globals: { URL: "readonly", process: "readonly" } },
    rules: { "no-var": "error", "prefer-const": "error", eqeqeq: "error" },
  },
];
