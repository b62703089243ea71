import type { CodeReference, ImmediateResponse } from "../domain/grant/index.ts"
import type { Cx } from "../store/index.ts"

/**
 * The code for a completed request. It is sealed; the state of the request limits it to one use.
 */
export const sealCode = (cx: Cx, { id, atOnce }: CodeReference): string =>
  cx.secrets.seal("token", JSON.stringify(atOnce ? [id, atOnce] : [id]), sealContextOf(cx))

/**
 * A self-contained code for a request that is not stored. Undefined if it would make the redirect
 * URI too long; then the request must be stored.
 */
export function sealSelfContainedCode(
  cx: Cx,
  id: string,
  atOnce: ImmediateResponse,
): string | undefined {
  const { state: _toldBesideIt, ...asked } = atOnce.asked
  // Parameters that are not needed after the response are omitted.
  const rest = { ...asked, prompts: [], languages: [] }
  const code = sealCode(cx, { id, atOnce: { ...atOnce, asked: rest } })
  return code.length > codeMax ? undefined : code
}

/** In characters. RFC 6749 §4.1.2 sets no limit; URLs of up to 2000 characters work everywhere. */
const codeMax = 1200

/** The request of a code; undefined if the code is invalid. */
export function openCode(cx: Cx, code: string): CodeReference | undefined {
  const plain = cx.secrets.open("token", code, sealContextOf(cx))
  if (plain === undefined) return undefined
  const [id, atOnce] = JSON.parse(plain)
  return { id, atOnce }
}

/** IDs may repeat across instances: a code of one instance must not be valid in another. */
const sealContextOf = (cx: Cx) => `authorization_code/${cx.instance}/2`
