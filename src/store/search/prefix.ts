/**
 * The prefix of every folded text that starts with `value`, for both foldings. The last ASCII
 * character is left out, because a following mark can change it; the others fold independently.
 */
export const foldedPrefix = (value: string): string =>
  (/^[ -~]*/.exec(value)?.[0] ?? "").slice(0, -1).toLowerCase()

/** The range of texts with a prefix, in character order. */
export function prefixRangeOf(value: string): { readonly from: string; readonly below?: string } {
  const characters = [...value.toWellFormed()]
  const from = characters.join("")
  for (let last = characters.pop(); last !== undefined; last = characters.pop()) {
    const next = (last.codePointAt(0) ?? 0) + 1
    if (next > 0x10ffff) continue
    // U+D800 and above are surrogates, which no text contains.
    return {
      from,
      below: characters.join("") + String.fromCodePoint(next === 0xd800 ? 0xe000 : next),
    }
  }
  return { from }
}
