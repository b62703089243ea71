import type { Clock } from "../../kernel/clock.ts"
import type { Secrets } from "../../kernel/crypto/secret.ts"
import { isSelfCheck } from "../../kernel/self-check.ts"

/** The header that marks a request as part of a self-check. */
export const selfCheckHeader = "x-latchkey-self-check"

const sealContext = "self-check"
const lifetimeMs = 300_000
/** A sealed ID has less than half of this length. */
const maxTokenLength = 400

type SelfCheckServices = { readonly secrets: Secrets; readonly clock: Clock }

/** The value of the header; any node with the keys can verify it for five minutes. */
export function createSelfCheckToken(
  { secrets, clock }: SelfCheckServices,
  requestId: string,
): string {
  return secrets.seal("token", `${clock.now() + lifetimeMs} ${requestId}`, sealContext)
}

/** The ID in the header of a request; undefined for other requests, and after it has expired. */
export function findSelfCheckId(
  { secrets, clock }: SelfCheckServices,
  headers: Headers,
): string | undefined {
  const token = headers.get(selfCheckHeader)
  if (token === null || token.length > maxTokenLength) return undefined
  const [expires = "", requestId = ""] = secrets.open("token", token, sealContext)?.split(" ") ?? []
  return Number(expires) > clock.now() && isSelfCheck(requestId) ? requestId : undefined
}
