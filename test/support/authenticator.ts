// A software security key, written from WebAuthn §6 and RFC 8949 without any of our code.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"

/** The options that a browser passes to a key. */
type KeyOptions = {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id?: string }
  readonly user?: { readonly id: string }
}

type AuthenticatorOptions = {
  /** The origin of the page. */
  readonly origin: string
  /** Whether it verifies its user. */
  readonly isVerified?: boolean
  /** The signature counter; that of a passkey stays at 0. */
  readonly count?: number
  /** Its AAGUID, 16 bytes in hex; by default none that browsers know. */
  readonly aaguid?: string
  /** The relying party in its response. */
  readonly rpId?: string
}

/** A created key and its responses. */
export type Authenticator = {
  readonly credentialId: string
  /** The response to its creation (§5.2.1). */
  readonly creation: object
  /** The response to an assertion request (§5.2.2). */
  readonly assertion: (options: KeyOptions, manner: AuthenticatorOptions) => object
}

/** Creates a key. */
export function createKey(options: KeyOptions, manner: AuthenticatorOptions): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const id = randomBytes(32)
  const rpId = manner.rpId ?? options.rp?.id ?? ""
  const client = clientData("webauthn.create", options, manner)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(id.length)
  const aaguid = Buffer.from((manner.aaguid ?? "").replaceAll("-", "").padEnd(32, "0"), "hex")
  const attested = Buffer.concat([aaguid, length, id, coseOf(publicKey)])
  const authData = Buffer.concat([authenticatorData(rpId, manner, 0x40), attested])
  const attestationObject = encodeMap([
    [encodeText("fmt"), encodeText("none")],
    [encodeText("attStmt"), encodeMap([])],
    [encodeText("authData"), encodeBytes(authData)],
  ])
  const credentialId = id.toString("base64url")
  return {
    credentialId,
    creation: {
      id: credentialId,
      rawId: credentialId,
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON: client.toString("base64url"),
        attestationObject: attestationObject.toString("base64url"),
        transports: ["internal"],
      },
    },
    assertion: (again, authenticatorOptions) =>
      createAssertion(again, authenticatorOptions, {
        id: credentialId,
        privateKey,
        handle: options.user?.id ?? "",
      }),
  }
}

function createAssertion(
  options: KeyOptions,
  manner: AuthenticatorOptions,
  key: { readonly id: string; readonly privateKey: KeyObject; readonly handle: string },
) {
  const client = clientData("webauthn.get", options, manner)
  const authData = authenticatorData(manner.rpId ?? options.rpId ?? "", manner, 0)
  const hash = createHash("sha256").update(client).digest()
  const signature = sign("sha256", Buffer.concat([authData, hash]), key.privateKey)
  return {
    id: key.id,
    rawId: key.id,
    type: "public-key",
    clientExtensionResults: {},
    response: {
      clientDataJSON: client.toString("base64url"),
      authenticatorData: authData.toString("base64url"),
      signature: signature.toString("base64url"),
      userHandle: key.handle,
    },
  }
}

const clientData = (
  type: string,
  { challenge }: KeyOptions,
  { origin }: AuthenticatorOptions,
): Buffer => Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))

function authenticatorData(
  rpId: string,
  { isVerified = true, count = 0 }: AuthenticatorOptions,
  flags: number,
): Buffer {
  const counter = Buffer.alloc(4)
  counter.writeUInt32BE(count)
  const present = 0x01
  const verified = isVerified ? 0x04 : 0
  return Buffer.concat([
    createHash("sha256").update(rpId).digest(),
    Buffer.from([present | verified | flags]),
    counter,
  ])
}

/** RFC 9053 §7.1.1: an ES256 key. */
function coseOf(publicKey: KeyObject): Buffer {
  const { x = "", y = "" } = publicKey.export({ format: "jwk" })
  return encodeMap([
    [encodeInt(1), encodeInt(2)],
    [encodeInt(3), encodeInt(-7)],
    [encodeInt(-1), encodeInt(1)],
    [encodeInt(-2), encodeBytes(Buffer.from(x, "base64url"))],
    [encodeInt(-3), encodeBytes(Buffer.from(y, "base64url"))],
  ])
}

/** RFC 8949 §3: a CBOR head, for lengths below 65536. */
function encodeHead(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length])
  if (length < 256) return Buffer.from([(major << 5) | 24, length])
  return Buffer.from([(major << 5) | 25, length >> 8, length & 0xff])
}

const encodeInt = (value: number) => (value < 0 ? encodeHead(1, -1 - value) : encodeHead(0, value))
const encodeBytes = (value: Buffer) => Buffer.concat([encodeHead(2, value.length), value])
const encodeText = (value: string) =>
  Buffer.concat([encodeHead(3, value.length), Buffer.from(value)])
const encodeMap = (entries: readonly (readonly [Buffer, Buffer])[]) =>
  Buffer.concat([encodeHead(5, entries.length), ...entries.flat()])
