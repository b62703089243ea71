import type { Cx, Transaction } from "../../../store/index.ts"
import { ceremonyMs, user } from "../../user-model/index.ts"
import type { Challenge } from "../proof.ts"
import { keysOf } from "../ready.ts"
import { defaultKeyName } from "./aaguid.ts"
import { addKey, verifyKey, wrongError } from "./key.ts"
import { relyingPartyOf } from "./relying-party.ts"
import { creationOptions, newChallenge, readNewKey } from "./webauthn.ts"

/** A person who is not there yet, whose id is the one that they will have, or who is invited. */
type Coming = { readonly id: string; readonly name: string; readonly displayName: string }

const kind = "passkey"

/**
 * Begins the passkey that somebody's account is to be made with. Nothing is kept of it: whoever
 * asks keeps the challenge, which is good for ten minutes. `options` is what the browser is handed,
 * as JSON (WebAuthn §5.4).
 */
export async function beginFirstKey(cx: Cx, coming: Coming) {
  const party = relyingPartyOf(cx)
  const challenge = newChallenge(cx)
  const options = await creationOptions(cx, {
    kind,
    party,
    partyName: party.id,
    challenge,
    user: coming,
    // Of who is invited, who may have keys already: no authenticator makes one twice.
    known: keysOf(cx.store.state(cx, user, coming.id)).filter(({ rpId }) => rpId === party.id),
  })
  const expires = cx.clock.now() + ceremonyMs
  const userVerification = "required"
  const asked: Challenge = { kind: "key", challenge, rpId: party.id, userVerification, expires }
  return { options, challenge: asked }
}

/** Gives a person who was added in this very step their passkey. */
type FirstKey = (tx: Transaction, userId: string) => void

/**
 * Reads what the browser has answered, `given` as JSON. Refuses what is wrong or too late with
 * `user.key_wrong`; in the step a key that somebody has. An account is made once, so is its key.
 */
export async function firstKey(
  cx: Cx,
  {
    challenge: asked,
    given,
  }: { readonly challenge: Challenge | undefined; readonly given: string },
): Promise<FirstKey> {
  if (asked?.kind !== "key" || cx.clock.now() >= asked.expires) throw wrongError()
  const { challenge, rpId } = asked
  const key = await readNewKey(readJson(given), {
    challenge,
    party: relyingPartyOf(cx, rpId),
    isUserVerified: true,
  })
  if (!key) throw wrongError()
  const tokenId = cx.ids.next()
  return (tx, userId) => {
    addKey.within(tx, userId, { kind, tokenId, rpId, challenge, codeId: undefined })
    const name = defaultKeyName({ aaguid: key.aaguid, userAgent: cx.from?.userAgent })
    verifyKey.within(tx, userId, { kind, tokenId, challenge, name, key, isFirst: true })
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
