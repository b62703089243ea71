/** Where a text stops being JSON: line and column, both from 1. */
export type Place = { readonly line: number; readonly column: number }

/** A place further in than this many tokens is not worth its time. */
const tokensMax = 50_000

const string = String.raw`"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"`
const number = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`
const word = String.raw`(?:${number}|true|false|null)(?![\w.+-])`
const token = new RegExp(String.raw`[ \t\n\r]*(?:([{}[\],:])|(${string})|${word})`, "uy")

/** What may come next. "first" is a value or the end of an empty array, and so on. */
type Next = "value" | "first" | "key" | "first key" | "colon" | "more" | "end"

/**
 * Finds where a text that JSON.parse has refused goes wrong. The runtime's own message names no
 * place and quotes the text, which may be a password. Gives up after many tokens and answers
 * the place that it has reached.
 */
export function placeOf(text: string): Place {
  token.lastIndex = 0
  const open: string[] = []
  let next: Next = "value"
  let good = 0
  for (let count = 0; count < tokensMax; count++) {
    const match = token.exec(text)
    const after: Next | null | undefined = match && follow(next, match, open)
    if (!after) break
    next = after
    good = token.lastIndex
  }
  const rest = text.slice(good)
  const before = text.slice(0, text.length - rest.trimStart().length).split("\n")
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 }
}

/** The state after one token; undefined where the token may not stand. */
function follow(next: Next, [, mark, string]: RegExpExecArray, open: string[]): Next | undefined {
  if (mark === "}" || mark === "]") return close(next, mark, open)
  if (mark === ":") return next === "colon" ? "value" : undefined
  if (mark === ",") {
    if (next !== "more") return undefined
    return open.at(-1) === "{" ? "key" : "value"
  }
  if (next === "key" || next === "first key") return string === undefined ? undefined : "colon"
  if (next !== "value" && next !== "first") return undefined
  if (mark === undefined) return open.length > 0 ? "more" : "end"
  open.push(mark)
  return mark === "{" ? "first key" : "first"
}

function close(next: Next, mark: string, open: string[]): Next | undefined {
  const isEmpty = mark === "}" ? next === "first key" : next === "first"
  const fits = open.at(-1) === (mark === "}" ? "{" : "[")
  if (!fits || (next !== "more" && !isEmpty)) return undefined
  open.pop()
  return open.length > 0 ? "more" : "end"
}
