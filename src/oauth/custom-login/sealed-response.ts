import type { AuthorizationRequest } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import { issuerOf, paths } from "../issuer.ts"

type ResponseTarget = Pick<
  AuthorizationRequest,
  "appId" | "clientId" | "redirectUri" | "responseMode" | "languages"
> & {
  readonly state?: string | undefined
}

/**
 * A response that a redirect alone can't deliver to the application: a page of ours posts it, or
 * asks the user first.
 */
export type SealedResponse = {
  readonly back: ResponseTarget
  readonly fields: Readonly<Record<string, string>>
}

/** As long as the code in the response is valid. */
const lifetimeMs = 60_000

/** The URL of the page with a response, which is sealed. */
export function sealResponse(
  cx: Cx,
  { asked, fields }: { readonly asked: ResponseTarget; readonly fields: SealedResponse["fields"] },
): string {
  const { appId, clientId, redirectUri, responseMode, state, languages } = asked
  const back: ResponseTarget = { appId, clientId, redirectUri, responseMode, state, languages }
  const posted: SealedResponse = { back, fields }
  const plain = JSON.stringify([posted, cx.clock.now() + lifetimeMs])
  const answer = cx.secrets.seal("token", plain, sealContextOf(cx))
  return `${issuerOf(cx).issuer}${paths.callback}?${new URLSearchParams({ answer })}`
}

/** Opens a sealed response; undefined if it is invalid or expired. */
export function openResponse(cx: Cx, answer: string): SealedResponse | undefined {
  const plain = cx.secrets.open("token", answer, sealContextOf(cx))
  if (plain === undefined) return undefined
  const [posted, expires]: [SealedResponse, number] = JSON.parse(plain)
  return cx.clock.now() < expires ? posted : undefined
}

const sealContextOf = (cx: Cx) => `posted_answer/${cx.instance}`
