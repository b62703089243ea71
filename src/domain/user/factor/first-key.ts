import type { Cx, Transaction } from "../../../store/index.ts"
import { defaultKeyName } from "./aaguid.ts"
import type { Challenge } from "./check.ts"
import { addKey, verifyKey, wrongError } from "./key.ts"
import type { OwnKey } from "./ready.ts"
import { relyingPartyOf } from "./relying-party.ts"
import { ceremonyMs, creationOptions, newChallenge, readNewKey } from "./webauthn.ts"

/** A person who is not there yet; the id is the one that they will have. */
type Coming = { readonly id: string; readonly name: string; readonly displayName: string }

type FirstKeyOptions = {
  /** Keys that the person has already, which no authenticator makes twice. */
  readonly known?: readonly OwnKey[]
}

const kind = "passkey"

/**
 * Begins the passkey that somebody's account is to be made with. Nothing is kept of it: whoever
 * asks keeps the challenge, which is good for ten minutes. `options` is what the browser is handed,
 * as JSON (WebAuthn §5.4).
 */
export async function beginFirstKey(cx: Cx, coming: Coming, { known = [] }: FirstKeyOptions = {}) {
  const party = relyingPartyOf(cx)
  const challenge = newChallenge(cx)
  const options = await creationOptions(cx, {
    ...{ kind, party, partyName: party.id, challenge, user: coming },
    known: known.filter(({ rpId }) => rpId === party.id),
  })
  const expires = cx.clock.now() + ceremonyMs
  const userVerification = "required"
  const asked: Challenge = { kind: "key", challenge, rpId: party.id, userVerification, expires }
  return { options, challenge: asked }
}

/** Gives a person who was added in this very step their passkey. */
export type FirstKey = (tx: Transaction, userId: string) => void

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
    ...{ challenge, party: relyingPartyOf(cx, rpId), isUserVerified: true },
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
