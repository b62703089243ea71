import { createPrivateKey } from "node:crypto"
import { loadJose } from "../../../protocol/jose.ts"
import type { Cx } from "../../../store/index.ts"
import type { Settings } from "../model.ts"

const lifetimeSeconds = 300

/**
 * developer.apple.com, "Creating a client secret": a JWT signed with the key that the team
 * downloaded.
 */
export async function createAppleSecret(
  cx: Cx,
  { teamId, keyId, clientId }: Extract<Settings, { kind: "apple" }>,
  pem: string,
): Promise<string> {
  const { SignJWT } = await loadJose()
  const now = Math.floor(cx.clock.now() / 1000)
  return new SignJWT({})
    .setProtectedHeader({ alg: "ES256", kid: keyId })
    .setIssuer(teamId)
    .setSubject(clientId)
    .setAudience("https://appleid.apple.com")
    .setIssuedAt(now)
    .setExpirationTime(now + lifetimeSeconds)
    .sign(createPrivateKey(pem))
}
