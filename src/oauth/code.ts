import type { Answered, AnsweredAtOnce } from "../domain/grant/index.ts"
import type { Cx } from "../store/index.ts"

/** The code of an answered request. It authenticates itself; the request's state counts it. */
export const writeCode = (cx: Cx, { id, atOnce }: Answered): string =>
  cx.secrets.seal("token", JSON.stringify(atOnce ? [id, atOnce] : [id]), aboutOf(cx))

/**
 * The code of a request that is kept nowhere else. Undefined where the client has asked for so much
 * that its address would grow too long for what lies between: then it must be kept.
 */
export function writeWholeCode(cx: Cx, id: string, atOnce: AnsweredAtOnce): string | undefined {
  const { state: _toldBesideIt, ...asked } = atOnce.asked
  // What was of use until the answer is of none after it.
  const rest = { ...asked, prompts: [], languages: [] }
  const code = writeCode(cx, { id, atOnce: { ...atOnce, asked: rest } })
  return code.length > codeMax ? undefined : code
}

/** Characters; RFC 6749 §4.1.2 leaves it to us, and 2000 is what an address may always have. */
const codeMax = 1200

/** What a code answers; undefined for anything that is no code of ours. */
export function readCode(cx: Cx, code: string): Answered | undefined {
  const plain = cx.secrets.open("token", code, aboutOf(cx))
  if (plain === undefined) return undefined
  const [id, atOnce] = JSON.parse(plain)
  return { id, atOnce }
}

/** Ids may repeat across instances: a code of one must not open in another. */
const aboutOf = (cx: Cx) => `authorization_code/${cx.instance}/2`
