// A security key in software, written from WebAuthn §6 and RFC 8949: no part of ours is in it.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"

/** What a browser is asked by, as far as a key looks at it. */
type Asked = {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id?: string }
  readonly user?: { readonly id: string }
}

type Manner = {
  /** The page that asks. */
  readonly origin: string
  /** Whether it has seen who uses it. */
  readonly isVerified?: boolean
  /** The count of uses that it tells; one of a passkey stays at 0. */
  readonly count?: number
  /** Its model, 16 bytes in hex; unless told, none that browsers name. */
  readonly aaguid?: string
  /** For whom it says that it was made. */
  readonly rpId?: string
}

/** A key that was made, and what it answers. */
export type Authenticator = {
  readonly credentialId: string
  /** What a page gets when it has it made (§5.2.1). */
  readonly creation: object
  /** What it gets when it has it prove itself (§5.2.2). */
  readonly assertion: (asked: Asked, manner: Manner) => object
}

/** Makes a key. */
export function makeKey(asked: Asked, manner: Manner): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const id = randomBytes(32)
  const rpId = manner.rpId ?? asked.rp?.id ?? ""
  const client = clientData("webauthn.create", asked, manner)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(id.length)
  const aaguid = Buffer.from((manner.aaguid ?? "").replaceAll("-", "").padEnd(32, "0"), "hex")
  const attested = Buffer.concat([aaguid, length, id, coseOf(publicKey)])
  const authData = Buffer.concat([dataOf(rpId, manner, 0x40), attested])
  const attestationObject = map([
    [text("fmt"), text("none")],
    [text("attStmt"), map([])],
    [text("authData"), bytes(authData)],
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
    assertion: (again, how) =>
      assertionBy(again, how, { id: credentialId, privateKey, handle: asked.user?.id ?? "" }),
  }
}

function assertionBy(
  asked: Asked,
  manner: Manner,
  key: { readonly id: string; readonly privateKey: KeyObject; readonly handle: string },
) {
  const client = clientData("webauthn.get", asked, manner)
  const authData = dataOf(manner.rpId ?? asked.rpId ?? "", manner, 0)
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

const clientData = (type: string, { challenge }: Asked, { origin }: Manner): Buffer =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))

function dataOf(rpId: string, { isVerified = true, count = 0 }: Manner, flags: number): Buffer {
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
  return map([
    [int(1), int(2)],
    [int(3), int(-7)],
    [int(-1), int(1)],
    [int(-2), bytes(Buffer.from(x, "base64url"))],
    [int(-3), bytes(Buffer.from(y, "base64url"))],
  ])
}

/** RFC 8949 §3: a head, of lengths below 65536. */
function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length])
  if (length < 256) return Buffer.from([(major << 5) | 24, length])
  return Buffer.from([(major << 5) | 25, length >> 8, length & 0xff])
}

const int = (value: number) => (value < 0 ? head(1, -1 - value) : head(0, value))
const bytes = (value: Buffer) => Buffer.concat([head(2, value.length), value])
const text = (value: string) => Buffer.concat([head(3, value.length), Buffer.from(value)])
const map = (entries: readonly (readonly [Buffer, Buffer])[]) =>
  Buffer.concat([head(5, entries.length), ...entries.flat()])
