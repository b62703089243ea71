/** A text cut where it differs from another one; `differs` may be empty. */
export type Cut = { readonly before: string; readonly differs: string; readonly after: string }

export type Same = { readonly sameStart: number; readonly sameEnd: number }

/** Cuts a text by how many characters it shares with the other at either end. */
export function cutOf(text: string, { sameStart, sameEnd }: Same): Cut {
  const from = whole(text, Math.min(sameStart, text.length))
  const to = Math.max(from, text.length - sameEnd)
  return { before: text.slice(0, from), differs: text.slice(from, to), after: text.slice(to) }
}

/** A character of two units is not cut through its middle. */
function whole(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1)
  return unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at
}

const signs: Readonly<Record<string, string>> = { " ": "␣", "\t": "⇥", "\n": "⏎", "\r": "⏎" }

/** What would not be seen gets a sign. */
export function visible(text: string): string {
  return text.replace(/\s/g, (space) => signs[space] ?? "␣")
}
