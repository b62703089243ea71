import { createHash } from "node:crypto"
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server"
import { randomToken } from "../../../kernel/crypto/random.ts"
import { lazily } from "../../../kernel/lazy.ts"
import type { Cx } from "../../../store/index.ts"
import { ceremonyMs, type KeyKind, type ReadyKey } from "../../user-model/index.ts"
import type { UserVerification } from "../proof.ts"
import type { OwnKey } from "../ready.ts"
import type { RelyingParty } from "./relying-party.ts"

const load = lazily(async () => {
  // Its parts that others share with it would come before the one that they all want there first.
  await import("reflect-metadata")
  return import("@simplewebauthn/server")
})

/** A new challenge, base64url. */
export const newChallenge = (cx: Pick<Cx, "random">): string => randomToken(cx.random)

export type Registering = {
  readonly kind: KeyKind
  readonly party: RelyingParty
  readonly partyName: string
  readonly challenge: string
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string }
  /** Keys that the person has already; the same one is not made twice. */
  readonly known: readonly OwnKey[]
  readonly attachment?: "platform" | "cross-platform" | undefined
}

/**
 * What a browser is asked to make a key by. A passkey is kept by the key itself and sees who uses
 * it; a security key need do neither. No attestation is asked for: it would tell who made the key,
 * and nothing here hangs from that.
 */
export async function creationOptions(
  cx: Cx,
  wanted: Registering,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await load()
  const isPasskey = wanted.kind === "passkey"
  return generateRegistrationOptions({
    rpName: wanted.partyName,
    rpID: wanted.party.id,
    userName: wanted.user.name,
    userDisplayName: wanted.user.displayName,
    userID: new Uint8Array(userHandle(cx, wanted.user.id)),
    challenge: new Uint8Array(Buffer.from(wanted.challenge, "base64url")),
    timeout: ceremonyMs,
    attestationType: "none",
    excludeCredentials: wanted.known.map(descriptorOf),
    authenticatorSelection: {
      residentKey: isPasskey ? "required" : "discouraged",
      userVerification: isPasskey ? "required" : "discouraged",
      ...(wanted.attachment && { authenticatorAttachment: wanted.attachment }),
    },
  })
}

/** WebAuthn §14.6.1: names a person to their keys, and tells nobody anything else. */
export const userHandle = ({ instance }: Pick<Cx, "instance">, userId: string): Buffer =>
  createHash("sha256")
    .update(JSON.stringify([instance, userId]))
    .digest()

/** What a browser answers about a key that it has made. */
export type NewKey = Pick<
  ReadyKey,
  "aaguid" | "credentialId" | "publicKey" | "signCount" | "transports"
>

/** Verifies what a browser answers (§7.1); undefined for what is not right, whatever it lacks. */
export async function readNewKey(
  credential: unknown,
  expected: {
    readonly challenge: string
    readonly party: RelyingParty
    readonly isUserVerified: boolean
  },
): Promise<NewKey | undefined> {
  const { verifyRegistrationResponse } = await load()
  const response = registrationOf(credential)
  if (!response) return undefined
  const result = await rightOr(() =>
    verifyRegistrationResponse({
      response,
      expectedChallenge: expected.challenge,
      expectedOrigin: [...expected.party.origins],
      expectedRPID: expected.party.id,
      requireUserVerification: expected.isUserVerified,
    }),
  )
  if (!result?.verified) return undefined
  const { credential: key, aaguid } = result.registrationInfo
  return {
    aaguid,
    credentialId: key.id,
    publicKey: Buffer.from(key.publicKey).toString("base64url"),
    signCount: key.counter,
    transports: response.response.transports ?? [],
  }
}

/** What a browser is asked for a proof by; without keys, whichever passkey the person picks. */
export const requestOptions = (wanted: {
  readonly rpId: string
  readonly challenge: string
  readonly userVerification: UserVerification
  readonly keys: readonly OwnKey[]
}) => ({
  rpId: wanted.rpId,
  challenge: wanted.challenge,
  timeout: ceremonyMs,
  userVerification: wanted.userVerification,
  allowCredentials: wanted.keys.map((key) => ({
    ...descriptorOf(key),
    type: "public-key" as const,
  })),
})

/** What an assertion has shown; the count of uses is for whoever decides to compare. */
export type Assertion = { readonly signCount: number; readonly isUserVerified: boolean }

/** Verifies an assertion (§7.2) of a known key; undefined for what is not right. */
export async function readAssertion(
  response: AuthenticationResponseJSON,
  expected: {
    readonly key: ReadyKey
    readonly challenge: string
    readonly party: RelyingParty
    readonly isUserVerified: boolean
  },
): Promise<Assertion | undefined> {
  const { verifyAuthenticationResponse } = await load()
  const { key } = expected
  const result = await rightOr(() =>
    verifyAuthenticationResponse({
      response,
      expectedChallenge: expected.challenge,
      expectedOrigin: [...expected.party.origins],
      expectedRPID: expected.party.id,
      requireUserVerification: expected.isUserVerified,
      // The count is compared where it is decided: two at the same moment must not both be right.
      credential: {
        id: key.credentialId,
        publicKey: new Uint8Array(Buffer.from(key.publicKey, "base64url")),
        counter: 0,
      },
    }),
  )
  if (!result?.verified) return undefined
  const { newCounter, userVerified } = result.authenticationInfo
  return { signCount: newCounter, isUserVerified: userVerified }
}

/** The library throws at whatever it does not like in what strangers send. */
async function rightOr<T>(verify: () => Promise<T>): Promise<T | undefined> {
  try {
    return await verify()
  } catch {
    return undefined
  }
}

const descriptorOf = ({ credentialId: id, transports }: OwnKey) => ({
  id,
  transports: [...transports],
})

/** The parts of a registration that are read (§5.1.8); undefined where one is missing. */
function registrationOf(given: unknown): RegistrationResponseJSON | undefined {
  const credential = credentialOf(given)
  if (!credential) return undefined
  const { id, response } = credential
  const clientDataJSON = textIn(response, "clientDataJSON")
  const attestationObject = textIn(response, "attestationObject")
  if (clientDataJSON === undefined || attestationObject === undefined) return undefined
  const said: unknown = "transports" in response ? response.transports : []
  const transports = Array.isArray(said) ? said.filter(isTransport).slice(0, 8) : []
  return {
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: { clientDataJSON, attestationObject, transports },
  }
}

const isTransport = (text: unknown): text is string =>
  typeof text === "string" && /^[a-z-]{1,20}$/.test(text)

/** The parts of an assertion that are read; undefined where one is missing. */
export function assertionOf(given: unknown): AuthenticationResponseJSON | undefined {
  const credential = credentialOf(given)
  if (!credential) return undefined
  const { id, response } = credential
  const clientDataJSON = textIn(response, "clientDataJSON")
  const authenticatorData = textIn(response, "authenticatorData")
  const signature = textIn(response, "signature")
  if (clientDataJSON === undefined || authenticatorData === undefined || signature === undefined) {
    return undefined
  }
  const handle = textIn(response, "userHandle")
  return {
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: {
      clientDataJSON,
      authenticatorData,
      signature,
      ...(handle !== undefined && { userHandle: handle }),
    },
  }
}

function credentialOf(given: unknown) {
  if (typeof given !== "object" || given === null || !("response" in given)) return undefined
  const { response } = given
  const id = textIn(given, "id")
  if (id === undefined || typeof response !== "object" || response === null) return undefined
  return { id, response }
}

/** A text of an object from outside, in bounds. */
function textIn(given: object, name: string): string | undefined {
  const value: unknown = Object.entries(given).find(([key]) => key === name)?.[1]
  return typeof value === "string" && value.length <= textMax ? value : undefined
}

/** The longest, an attestation with its certificates, has some kilobytes. */
const textMax = 16_384
