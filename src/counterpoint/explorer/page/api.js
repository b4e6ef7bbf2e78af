/** The server: JSON there and back, and a search whose events come as they happen. */
import { say } from "../../result/report/page/texts.js";

/** Return what is whole of a text of server-sent events, and the rest that is still to come. */
export function splitEvents(text) {
  const parts = text.split("\n\n");
  const rest = parts.pop();
  const events = parts
    .filter((part) => part.trim())
    .map((part) => {
      const fields = part
        .split("\n")
        .map((line) => [
          line.slice(0, line.indexOf(":")),
          line.slice(line.indexOf(":") + 1).trim(),
        ]);
      const all = (name) =>
        fields
          .filter(([field]) => field === name)
          .map(([, value]) => value)
          .join("\n");
      return { kind: all("event") || "message", data: JSON.parse(all("data") || "null") };
    });
  return { events, rest };
}

/** Return what the server answers, or throw what it says is wrong. */
async function answered(response) {
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? say("ask.status", { status: response.status }));
  return answer;
}

/** Return what is at a path. */
export async function getJson(path, signal) {
  return answered(await reached(path, { signal }));
}

/** Send a value to a path; return the answer. */
export async function postJson(path, value, signal) {
  return answered(await reached(path, posted(value, signal)));
}

/** Send a value to a path; tell every event of the answer, until there is no more. */
export async function postStream(path, value, told, signal) {
  const response = await reached(path, posted(value, signal));
  if (!response.ok) await answered(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const { events, rest } = splitEvents(text + part.value);
    text = rest;
    events.forEach(told);
  }
}

function posted(value, signal) {
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(value),
    signal,
  };
}

async function reached(path, options) {
  try {
    return await fetch(path, { ...options, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(say("ask.unreached"), { cause: error });
  }
}
