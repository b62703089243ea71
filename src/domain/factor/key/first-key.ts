import type { Cx, Transaction } from "../../../store/index.ts"
import { ceremonyMs, user } from "../../user-model/index.ts"
import type { Challenge } from "../proof.ts"
import { keysOf } from "../ready.ts"
import { defaultKeyName } from "./aaguid.ts"
import { addKey, keyInvalidError, verifyKey } from "./key.ts"
import { relyingPartyOf } from "./relying-party.ts"
import { creationOptions, newChallenge, verifyRegistration } from "./webauthn.ts"

/** An invited user, or one who does not exist yet, with the ID that will be assigned. */
type NewKeyOwner = { readonly id: string; readonly name: string; readonly displayName: string }

const kind = "passkey"

/**
 * Begins registration of the passkey for a new account. Nothing is stored: the caller keeps the
 * challenge, which expires after ten minutes. `options` is the JSON for the browser (WebAuthn
 * §5.4).
 */
export async function beginFirstKey(cx: Cx, owner: NewKeyOwner) {
  const party = relyingPartyOf(cx)
  const challenge = newChallenge(cx)
  const options = await creationOptions(cx, {
    kind,
    party,
    partyName: party.id,
    challenge,
    user: owner,
    // Invited users can already have keys; an authenticator doesn't register the same account
    // twice.
    known: keysOf(cx.store.state(cx, user, owner.id)).filter(({ rpId }) => rpId === party.id),
  })
  const expires = cx.clock.now() + ceremonyMs
  const userVerification = "required"
  const expectedChallenge: Challenge = {
    kind: "key",
    challenge,
    rpId: party.id,
    userVerification,
    expires,
  }
  return { options, challenge: expectedChallenge }
}

/** Adds the passkey to a user who was created in the same transaction. */
type AddFirstKey = (tx: Transaction, userId: string) => void

/**
 * Verifies the browser's JSON response. Rejects an invalid or late response with `user.key_wrong`;
 * the transaction rejects a key that is already registered.
 */
export async function verifyFirstKey(
  cx: Cx,
  {
    challenge: expectedChallenge,
    given: response,
  }: { readonly challenge: Challenge | undefined; readonly given: string },
): Promise<AddFirstKey> {
  if (expectedChallenge?.kind !== "key" || cx.clock.now() >= expectedChallenge.expires)
    throw keyInvalidError()
  const { challenge, rpId } = expectedChallenge
  const key = await verifyRegistration(parseJson(response), {
    challenge,
    party: relyingPartyOf(cx, rpId),
    isUserVerified: true,
  })
  if (!key) throw keyInvalidError()
  const tokenId = cx.ids.next()
  return (tx, userId) => {
    addKey.within(tx, userId, { kind, tokenId, rpId, challenge, codeId: undefined })
    const name = defaultKeyName({ aaguid: key.aaguid, userAgent: cx.from?.userAgent })
    verifyKey.within(tx, userId, { kind, tokenId, challenge, name, key, isFirst: true })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
