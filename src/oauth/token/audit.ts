import { noteIssued } from "../../domain/grant/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import type { Cx } from "../../store/index.ts"
import { wordsOf } from "../request.ts"
import type { Issuance, TokenResponse } from "./issue.ts"

/**
 * Notes what a service user got for itself, where the instance wants to know. Nothing else is
 * written for it, so that programs cost no disk; what people get is noted with their grant.
 */
export async function noteOwnTokens(
  cx: Cx,
  grantType: string,
  { grantId, userId, clientId }: Issuance,
  { scope }: Pick<TokenResponse, "scope">,
): Promise<void> {
  const isOwn = grantId.startsWith("key/") || grantId.startsWith("secret/")
  if (!isOwn || !requireInstance(cx).oidc.tokenAudit.machines) return
  const issued = { grantId, userId, clientId, grantType, scopes: wordsOf(scope) }
  await cx.store.transact(cx, (tx) => noteIssued(tx, tx.ids.next(), issued))
}
