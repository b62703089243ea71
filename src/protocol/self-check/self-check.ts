import type { Clock } from "../../kernel/clock.ts"
import type { Secrets } from "../../kernel/crypto/secret.ts"
import { isSelfCheck } from "../../kernel/self-check.ts"

/** The header by which a request shows that it belongs to a self-check. */
export const selfCheckHeader = "x-latchkey-self-check"

const about = "self-check"
const lifetimeMs = 300_000
/** A sealed id has less than half of it. */
const lengthMax = 400

type Keys = { readonly secrets: Secrets; readonly clock: Clock }

/** The value of the header; any node that has the keys can read it, for five minutes. */
export function selfCheckToken({ secrets, clock }: Keys, requestId: string): string {
  return secrets.seal("token", `${clock.now() + lifetimeMs} ${requestId}`, about)
}

/** The id in the header of a request; undefined for all other requests, and once it has expired. */
export function selfCheckIn({ secrets, clock }: Keys, headers: Headers): string | undefined {
  const token = headers.get(selfCheckHeader)
  if (token === null || token.length > lengthMax) return undefined
  const [expires = "", requestId = ""] = secrets.open("token", token, about)?.split(" ") ?? []
  return Number(expires) > clock.now() && isSelfCheck(requestId) ? requestId : undefined
}
