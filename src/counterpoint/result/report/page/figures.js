/** Figures: what is packed in the page is unpacked, and brushes are turned into numbers. */

/** Return a text that was compressed with gzip and written in base64. */
export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
