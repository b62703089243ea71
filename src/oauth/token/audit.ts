import { recordIssuedTokens } from "../../domain/grant/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import type { Cx } from "../../store/index.ts"
import { splitWords } from "../parameters.ts"
import type { Issuance, TokenResponse } from "./issue.ts"

/**
 * Records tokens of a service account for itself, if the instance has enabled this. Nothing else is
 * stored for them, so programs cause no writes; tokens of users are recorded with their grant.
 */
export async function recordOwnTokens(
  cx: Cx,
  grantType: string,
  { grantId, userId, clientId }: Issuance,
  { scope }: Pick<TokenResponse, "scope">,
): Promise<void> {
  const isOwn = grantId.startsWith("key/") || grantId.startsWith("secret/")
  if (!isOwn || !requireInstance(cx).oidc.tokenAudit.machines) return
  const issued = { grantId, userId, clientId, grantType, scopes: splitWords(scope) }
  await cx.store.transact(cx, (tx) => recordIssuedTokens(tx, tx.ids.next(), issued))
}
