import type { Cx, Transaction } from "../../../store/index.ts"
import { countRight, countWrong, isUsed, mayTryFactor } from "../../lockout/index.ts"
import { ceremonyMs, user } from "../../user-model/index.ts"
import type { Challenge, Check, Checked, UserVerification } from "../proof.ts"
import { keysOf, type OwnKey } from "../ready.ts"
import { credentialClaim } from "./key.ts"
import { relyingPartyOf } from "./relying-party.ts"
import {
  type Assertion,
  assertionOf,
  newChallenge,
  readAssertion,
  requestOptions,
  userHandle,
} from "./webauthn.ts"

type KeyChallenge = Extract<Challenge, { kind: "key" }>

/**
 * Asks for a proof by a key: of a person one of theirs, of nobody in particular any passkey.
 * `options` is what the browser is handed, as JSON (WebAuthn §5.5).
 */
export function challengeKey(
  cx: Cx,
  asked: {
    readonly userId?: string | undefined
    readonly domain?: string | undefined
    readonly userVerification: UserVerification
    /** What the key shall sign, base64url; a new one where nothing is said. */
    readonly challenge?: string
  },
): {
  readonly options: ReturnType<typeof requestOptions>
  readonly challenge: KeyChallenge
} {
  const { id: rpId } = relyingPartyOf(cx, asked.domain)
  const { userId, userVerification } = asked
  const own = userId === undefined ? [] : keysOf(cx.store.state(cx, user, userId))
  const keys = own.filter((key) => key.rpId === rpId)
  const { challenge = newChallenge(cx) } = asked
  const options = requestOptions({ rpId, challenge, userVerification, keys })
  const expires = cx.clock.now() + ceremonyMs
  return { options, challenge: { kind: "key", challenge, rpId, userVerification, expires } }
}

/** Whose key an assertion names; undefined for one that is nobody's. It proves nothing yet. */
export function keyHolder(cx: Cx, given: string): string | undefined {
  const id = readJson(given)?.id
  const holder =
    id === undefined
      ? undefined
      : cx.store.log.holder(cx.instance, credentialClaim, id, cx.clock.now())
  return holder?.stream === user.stream ? holder.id : undefined
}

/** The id of the key that an assertion names, where it is nobody's; undefined for any other. */
export function unknownKey(cx: Cx, given: string): string | undefined {
  const id = readJson(given)?.id
  const isOne = id !== undefined && id !== "" && id.length <= credentialIdMax
  return isOne && keyHolder(cx, given) === undefined ? id : undefined
}

/** WebAuthn §6.5.1: 1023 bytes, in base64url. */
const credentialIdMax = 1364

/** Verifies an assertion of a key of the person, one that was not copied. */
export const checkKey: Check = async (cx, { userId, given, challenge }) => {
  const asked = challenge?.kind === "key" ? challenge : undefined
  const response = readJson(given)
  const key = keysOf(cx.store.state(cx, user, userId)).find(
    ({ credentialId }) => credentialId === response?.id,
  )
  const handle = response?.response.userHandle
  // WebAuthn §7.2, step 6: who picked a passkey is who it was made for.
  const isTheirs = handle === undefined || handle === userHandle(cx, userId).toString("base64url")
  const assertion =
    asked && response && key && isTheirs && key.rpId === asked.rpId
      ? await readAssertion(response, {
          key,
          challenge: asked.challenge,
          party: relyingPartyOf(cx, asked.rpId),
          isUserVerified: asked.userVerification === "required",
        })
      : undefined
  return (tx) => admit(tx, userId, { key, asked, assertion })
}

/**
 * A synced passkey counts nothing (WebAuthn §6.1.1): that it was used is stored at most this often,
 * so that a sign-in costs no event of its own.
 */
const usedPrecisionMs = 3_600_000

type Found = {
  readonly key: OwnKey | undefined
  readonly asked: KeyChallenge | undefined
  readonly assertion: Assertion | undefined
}

function admit(tx: Transaction, userId: string, { key, asked, assertion }: Found): Checked {
  mayTryFactor(tx, userId)
  const now = key && keysOf(tx.state(user, userId)).find(({ id }) => id === key.id)
  const isOpen = asked && tx.now < asked.expires && !isUsed(tx, asked.challenge)
  if (!now || !isOpen || !assertion || isCopied(now.signCount, assertion.signCount)) {
    countWrong(tx, userId, key?.kind ?? "u2f")
    return { isRight: false }
  }
  const used = { key: asked.challenge, expires: asked.expires }
  countRight(tx, userId, { kind: now.kind, used })
  if (assertion.signCount !== now.signCount || tx.now - (now.used ?? 0) >= usedPrecisionMs) {
    const stem =
      now.kind === "passkey" ? "user.human.passwordless.token" : "user.human.mfa.u2f.token"
    const data = { tokenId: now.id, signCount: assertion.signCount }
    tx.append(user, userId, [{ type: `${stem}.signcount.changed`, data }])
  }
  const { isUserVerified } = assertion
  // RFC 8176 §2: possession of a key; who uses it is present, and where it has seen who, known.
  return { isRight: true, methods: ["pop", "user"], isUserVerified }
}

/** WebAuthn §6.1.1: a key that counts has counted on, or there are two of it. */
const isCopied = (before: number, after: number): boolean =>
  (before > 0 || after > 0) && after <= before

function readJson(given: string) {
  try {
    return assertionOf(JSON.parse(given))
  } catch {
    return undefined
  }
}
