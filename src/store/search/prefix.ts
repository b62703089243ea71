/**
 * How the folded form of a text begins that begins with `value`, by either folding. The last of its
 * plain characters may become another one by what follows, the others fold for themselves.
 */
export const headOf = (value: string): string =>
  (/^[ -~]*/.exec(value)?.[0] ?? "").slice(0, -1).toLowerCase()

/** The range of the texts that start with one, in the order of their characters. */
export function prefixed(value: string): { readonly from: string; readonly below?: string } {
  const characters = [...value.toWellFormed()]
  const from = characters.join("")
  for (let last = characters.pop(); last !== undefined; last = characters.pop()) {
    const next = (last.codePointAt(0) ?? 0) + 1
    if (next > 0x10ffff) continue
    // What follows U+D7FF are halves of characters; no text has one.
    return {
      from,
      below: characters.join("") + String.fromCodePoint(next === 0xd800 ? 0xe000 : next),
    }
  }
  return { from }
}
