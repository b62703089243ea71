/** The position where a text stops being valid JSON: line and column, both from 1. */
export type SyntaxPosition = { readonly line: number; readonly column: number }

/** The maximum number of tokens to scan for an error. */
const tokensMax = 50_000

const escapePattern = String.raw`\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})`
const stringPattern = String.raw`"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|${escapePattern})*"`
const numberPattern = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`
const wordPattern = String.raw`(?:${numberPattern}|true|false|null)(?![\w.+-])`
const tokenPattern = new RegExp(
  String.raw`[ \t\n\r]*(?:([{}[\],:])|(${stringPattern})|${wordPattern})`,
  "uy",
)

/**
 * The tokens that can come next. "first" is a value or the end of an empty array, "first key" a key
 * or the end of an empty object.
 */
type ParserState = "value" | "first" | "key" | "first key" | "colon" | "more" | "end"

/**
 * Finds the position at which JSON.parse fails. The message of the runtime has no position and
 * quotes the text, which can be a password. Stops after `tokensMax` tokens and returns the position
 * reached.
 */
export function syntaxErrorPosition(text: string): SyntaxPosition {
  tokenPattern.lastIndex = 0
  const open: string[] = []
  let next: ParserState = "value"
  let good = 0
  for (let count = 0; count < tokensMax; count++) {
    const match = tokenPattern.exec(text)
    const after: ParserState | null | undefined = match && stateAfter(next, match, open)
    if (!after) break
    next = after
    good = tokenPattern.lastIndex
  }
  const rest = text.slice(good)
  const before = text.slice(0, text.length - rest.trimStart().length).split("\n")
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 }
}

/** The state after one token; undefined if the token is not allowed there. */
function stateAfter(
  next: ParserState,
  [, mark, string]: RegExpExecArray,
  open: string[],
): ParserState | undefined {
  if (mark === "}" || mark === "]") return stateAfterClose(next, mark, open)
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

function stateAfterClose(next: ParserState, mark: string, open: string[]): ParserState | undefined {
  const isEmpty = mark === "}" ? next === "first key" : next === "first"
  const fits = open.at(-1) === (mark === "}" ? "{" : "[")
  if (!fits || (next !== "more" && !isEmpty)) return undefined
  open.pop()
  return open.length > 0 ? "more" : "end"
}
