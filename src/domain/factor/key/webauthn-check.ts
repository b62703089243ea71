import type { Cx, Transaction } from "../../../store/index.ts"
import {
  countFactorFailure,
  isUsed,
  recordFactorSuccess,
  requireFactorAllowed,
} from "../../lockout/index.ts"
import { ceremonyMs, user } from "../../user-model/index.ts"
import type { Challenge, FactorCheck, FactorCheckResult, UserVerification } from "../proof.ts"
import { keysOf, type OwnKey } from "../ready.ts"
import { credentialClaim } from "./key.ts"
import { relyingPartyOf } from "./relying-party.ts"
import {
  type Assertion,
  newChallenge,
  parseAssertion,
  requestOptions,
  userHandle,
  verifyAssertion,
} from "./webauthn.ts"

type KeyChallenge = Extract<Challenge, { kind: "key" }>

/**
 * Requests a proof by a key: by one of the user's keys, or by any passkey without a user. `options`
 * is the JSON for the browser (WebAuthn §5.5).
 */
export function challengeKey(
  cx: Cx,
  request: {
    readonly userId?: string | undefined
    readonly domain?: string | undefined
    readonly userVerification: UserVerification
    /** The challenge, base64url; generated if omitted. */
    readonly challenge?: string
  },
): {
  readonly options: ReturnType<typeof requestOptions>
  readonly challenge: KeyChallenge
} {
  const { id: rpId } = relyingPartyOf(cx, request.domain)
  const { userId, userVerification } = request
  const own = userId === undefined ? [] : keysOf(cx.store.state(cx, user, userId))
  const keys = own.filter((key) => key.rpId === rpId)
  const { challenge = newChallenge(cx) } = request
  const options = requestOptions({ rpId, challenge, userVerification, keys })
  const expires = cx.clock.now() + ceremonyMs
  return { options, challenge: { kind: "key", challenge, rpId, userVerification, expires } }
}

/**
 * The user who owns the key in an assertion, or undefined if the key is unknown. The assertion is
 * not verified yet.
 */
export function findKeyOwner(cx: Cx, assertionText: string): string | undefined {
  const id = parseJson(assertionText)?.id
  const holder =
    id === undefined
      ? undefined
      : cx.store.log.holder(cx.instance, credentialClaim, id, cx.clock.now())
  return holder?.stream === user.stream ? holder.id : undefined
}

/** The credential ID in an assertion if no user owns it; otherwise undefined. */
export function findUnknownCredentialId(cx: Cx, assertionText: string): string | undefined {
  const id = parseJson(assertionText)?.id
  const isOne = id !== undefined && id !== "" && id.length <= credentialIdMax
  return isOne && findKeyOwner(cx, assertionText) === undefined ? id : undefined
}

/** WebAuthn §6.5.1: 1023 bytes, in base64url. */
const credentialIdMax = 1364

/** Verifies an assertion of one of the user's keys and rejects cloned keys. */
export const checkKey: FactorCheck = async (cx, { userId, given: assertionText, challenge }) => {
  const request = challenge?.kind === "key" ? challenge : undefined
  const response = parseJson(assertionText)
  const key = keysOf(cx.store.state(cx, user, userId)).find(
    ({ credentialId }) => credentialId === response?.id,
  )
  const handle = response?.response.userHandle
  // WebAuthn §7.2, step 6: the user handle must be that of the user.
  const isHandleValid =
    handle === undefined || handle === userHandle(cx, userId).toString("base64url")
  const assertion =
    request && response && key && isHandleValid && key.rpId === request.rpId
      ? await verifyAssertion(response, {
          key,
          challenge: request.challenge,
          party: relyingPartyOf(cx, request.rpId),
          isUserVerified: request.userVerification === "required",
        })
      : undefined
  return (tx) => decideKey(tx, userId, { key, asked: request, assertion })
}

/**
 * Synced passkeys have no counter (WebAuthn §6.1.1): the last use is stored at most this often, so
 * that sign-ins don't each append an event.
 */
const lastUsedPrecisionMs = 3_600_000

type KeyCheck = {
  readonly key: OwnKey | undefined
  readonly asked: KeyChallenge | undefined
  readonly assertion: Assertion | undefined
}

function decideKey(
  tx: Transaction,
  userId: string,
  { key, asked: request, assertion }: KeyCheck,
): FactorCheckResult {
  requireFactorAllowed(tx, userId)
  const now = key && keysOf(tx.state(user, userId)).find(({ id }) => id === key.id)
  const isOpen = request && tx.now < request.expires && !isUsed(tx, request.challenge)
  if (!now || !isOpen || !assertion || isCopied(now.signCount, assertion.signCount)) {
    countFactorFailure(tx, userId, key?.kind ?? "u2f")
    return { isRight: false }
  }
  const used = { key: request.challenge, expires: request.expires }
  recordFactorSuccess(tx, userId, { kind: now.kind, used })
  if (assertion.signCount !== now.signCount || tx.now - (now.used ?? 0) >= lastUsedPrecisionMs) {
    const stem =
      now.kind === "passkey" ? "user.human.passwordless.token" : "user.human.mfa.u2f.token"
    const data = { tokenId: now.id, signCount: assertion.signCount }
    tx.append(user, userId, [{ type: `${stem}.signcount.changed`, data }])
  }
  const { isUserVerified } = assertion
  // RFC 8176 §2: possession of a key, user presence and, if verified, the user.
  return { isRight: true, methods: ["pop", "user"], isUserVerified }
}

/** WebAuthn §6.1.1: a counter that did not increase indicates a cloned key. */
const isCopied = (before: number, after: number): boolean =>
  (before > 0 || after > 0) && after <= before

function parseJson(assertionText: string) {
  try {
    return parseAssertion(JSON.parse(assertionText))
  } catch {
    return undefined
  }
}
