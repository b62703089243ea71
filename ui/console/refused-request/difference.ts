/** A text split at its difference from another; `different` can be empty. */
export type SplitText = {
  readonly before: string
  readonly different: string
  readonly after: string
}

export type CommonParts = { readonly sameStart: number; readonly sameEnd: number }

/** Splits a text by the number of characters in common at both ends. */
export function splitAtDifference(text: string, { sameStart, sameEnd }: CommonParts): SplitText {
  const from = alignToCharacter(text, Math.min(sameStart, text.length))
  const to = Math.max(from, text.length - sameEnd)
  return { before: text.slice(0, from), different: text.slice(from, to), after: text.slice(to) }
}

/** Avoids splitting a surrogate pair. */
function alignToCharacter(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1)
  return unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at
}

const visibleCharacters: Readonly<Record<string, string>> = {
  " ": "␣",
  "\t": "⇥",
  "\n": "⏎",
  "\r": "⏎",
}

/** Replaces invisible characters with visible symbols. */
export function makeVisible(text: string): string {
  return text.replace(/\s/g, (space) => visibleCharacters[space] ?? "␣")
}
