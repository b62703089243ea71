import { createHash } from "node:crypto"
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server"
import { randomToken } from "../../../kernel/crypto/random.ts"
import { loadOnce } from "../../../kernel/lazy.ts"
import type { Cx } from "../../../store/index.ts"
import { ceremonyMs, type KeyKind, type ReadyKey } from "../../user-model/index.ts"
import type { UserVerification } from "../proof.ts"
import type { OwnKey } from "../ready.ts"
import type { RelyingParty } from "./relying-party.ts"

const load = loadOnce(async () => {
  // Loaded first, because dependencies of the library require it at import.
  await import("reflect-metadata")
  return import("@simplewebauthn/server")
})

/** Generates a challenge, base64url. */
export const newChallenge = (cx: Pick<Cx, "random">): string => randomToken(cx.random)

export type CreationInput = {
  readonly kind: KeyKind
  readonly party: RelyingParty
  readonly partyName: string
  readonly challenge: string
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string }
  /** Existing keys of the user, which the authenticator excludes. */
  readonly known: readonly OwnKey[]
  readonly attachment?: "platform" | "cross-platform" | undefined
}

/**
 * Creation options for the browser. Passkeys must be discoverable and verify the user; security
 * keys need not. No attestation is requested, because it would disclose the device model and
 * nothing uses it.
 */
export async function creationOptions(
  cx: Cx,
  options: CreationInput,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await load()
  const isPasskey = options.kind === "passkey"
  return generateRegistrationOptions({
    rpName: options.partyName,
    rpID: options.party.id,
    userName: options.user.name,
    userDisplayName: options.user.displayName,
    userID: new Uint8Array(userHandle(cx, options.user.id)),
    challenge: new Uint8Array(Buffer.from(options.challenge, "base64url")),
    timeout: ceremonyMs,
    attestationType: "none",
    excludeCredentials: options.known.map(keyDescriptor),
    authenticatorSelection: {
      residentKey: isPasskey ? "required" : "discouraged",
      userVerification: isPasskey ? "required" : "discouraged",
      ...(options.attachment && { authenticatorAttachment: options.attachment }),
    },
  })
}

/** WebAuthn §14.6.1: identifies the user to authenticators without personal data. */
export const userHandle = ({ instance }: Pick<Cx, "instance">, userId: string): Buffer =>
  createHash("sha256")
    .update(JSON.stringify([instance, userId]))
    .digest()

/** The public part of a new key, as the browser returns it. */
export type NewKey = Pick<
  ReadyKey,
  "aaguid" | "credentialId" | "publicKey" | "signCount" | "transports"
>

/** Verifies a registration response (§7.1). Returns undefined if it is invalid. */
export async function verifyRegistration(
  credential: unknown,
  expected: {
    readonly challenge: string
    readonly party: RelyingParty
    readonly isUserVerified: boolean
  },
): Promise<NewKey | undefined> {
  const { verifyRegistrationResponse } = await load()
  const response = parseRegistration(credential)
  if (!response) return undefined
  const result = await undefinedOnError(() =>
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

/** Request options for the browser; without keys, the user can pick any passkey. */
export const requestOptions = (options: {
  readonly rpId: string
  readonly challenge: string
  readonly userVerification: UserVerification
  readonly keys: readonly OwnKey[]
}) => ({
  rpId: options.rpId,
  challenge: options.challenge,
  timeout: ceremonyMs,
  userVerification: options.userVerification,
  allowCredentials: options.keys.map((key) => ({
    ...keyDescriptor(key),
    type: "public-key" as const,
  })),
})

/** The result of an assertion; the caller compares the counter. */
export type Assertion = { readonly signCount: number; readonly isUserVerified: boolean }

/** Verifies an assertion (§7.2) of a known key. Returns undefined if it is invalid. */
export async function verifyAssertion(
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
  const result = await undefinedOnError(() =>
    verifyAuthenticationResponse({
      response,
      expectedChallenge: expected.challenge,
      expectedOrigin: [...expected.party.origins],
      expectedRPID: expected.party.id,
      requireUserVerification: expected.isUserVerified,
      // The counter is compared in the transaction, so that two concurrent assertions can't both
      // succeed.
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

/** Returns undefined if the library throws, which it does for any invalid input. */
async function undefinedOnError<T>(verify: () => Promise<T>): Promise<T | undefined> {
  try {
    return await verify()
  } catch {
    return undefined
  }
}

const keyDescriptor = ({ credentialId: id, transports }: OwnKey) => ({
  id,
  transports: [...transports],
})

/** The fields of a registration that are used (§5.1.8); undefined if one is missing. */
function parseRegistration(untrusted: unknown): RegistrationResponseJSON | undefined {
  const credential = parseCredential(untrusted)
  if (!credential) return undefined
  const { id, response } = credential
  const clientDataJSON = getText(response, "clientDataJSON")
  const attestationObject = getText(response, "attestationObject")
  if (clientDataJSON === undefined || attestationObject === undefined) return undefined
  const transportList: unknown = "transports" in response ? response.transports : []
  const transports = Array.isArray(transportList)
    ? transportList.filter(isTransport).slice(0, 8)
    : []
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

/** The fields of an assertion that are used; undefined if one is missing. */
export function parseAssertion(untrusted: unknown): AuthenticationResponseJSON | undefined {
  const credential = parseCredential(untrusted)
  if (!credential) return undefined
  const { id, response } = credential
  const clientDataJSON = getText(response, "clientDataJSON")
  const authenticatorData = getText(response, "authenticatorData")
  const signature = getText(response, "signature")
  if (clientDataJSON === undefined || authenticatorData === undefined || signature === undefined) {
    return undefined
  }
  const handle = getText(response, "userHandle")
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

function parseCredential(untrusted: unknown) {
  if (typeof untrusted !== "object" || untrusted === null || !("response" in untrusted))
    return undefined
  const { response } = untrusted
  const id = getText(untrusted, "id")
  if (id === undefined || typeof response !== "object" || response === null) return undefined
  return { id, response }
}

/** A text property of untrusted input, limited in length. */
function getText(untrusted: object, name: string): string | undefined {
  const value: unknown = Object.entries(untrusted).find(([key]) => key === name)?.[1]
  return typeof value === "string" && value.length <= textMax ? value : undefined
}

/** The longest text, an attestation with certificates, has a few kilobytes. */
const textMax = 16_384
