import { createPrivateKey } from "node:crypto"
import { jose } from "../../../protocol/jose.ts"
import type { Cx } from "../../../store/index.ts"
import type { Settings } from "../model.ts"

const lifetimeSeconds = 300

/**
 * developer.apple.com, "Creating a client secret": a JWT that we sign ourselves, with the key that
 * the team has downloaded.
 */
export async function appleSecret(
  cx: Cx,
  { teamId, keyId, clientId }: Extract<Settings, { kind: "apple" }>,
  pem: string,
): Promise<string> {
  const { SignJWT } = await jose()
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
