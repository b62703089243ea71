import { createHash, createPublicKey, sign } from "node:crypto"
import {
  parseAssertion,
  verifyAssertion,
  verifyRegistration,
} from "../../../src/domain/factor/key/webauthn.ts"
import { edKey } from "../engine/keys.ts"
import { fuzzTarget, requireEqual, requireProperty } from "../engine/target.ts"

const party = { id: "id.example.com", origins: ["https://id.example.com"] }
const challenge = Buffer.alloc(32, 7).toString("base64url")
const key = edKey("fuzz")
const credentialId = Buffer.alloc(32, 9)

/** RFC 8949 §3: the head of a value; lengths below 65536. */
function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length])
  if (length < 256) return Buffer.from([(major << 5) | 24, length])
  return Buffer.from([(major << 5) | 25, length >> 8, length & 0xff])
}
const int = (value: number) => (value < 0 ? head(1, -1 - value) : head(0, value))
const bytes = (value: Buffer) => Buffer.concat([head(2, value.length), value])
const text = (value: string) => Buffer.concat([head(3, value.length), Buffer.from(value)])
const map = (...entries: readonly (readonly [Buffer, Buffer])[]) =>
  Buffer.concat([head(5, entries.length), ...entries.flat()])

/** RFC 9053 §7.2: an Ed25519 octet key pair. */
const coseKey = (): Buffer => {
  const { x = "" } = createPublicKey(key).export({ format: "jwk" })
  const [kty, alg] = [int(1), int(-8)]
  return map(
    ...([
      [int(1), kty],
      [int(3), alg],
      [int(-1), int(6)],
      [int(-2), bytes(Buffer.from(x, "base64url"))],
    ] as const),
  )
}

const clientData = (type: string): Buffer =>
  Buffer.from(JSON.stringify({ type, challenge, origin: party.origins[0], crossOrigin: false }))

const dataOf = (flags: number, ...more: readonly Buffer[]): Buffer =>
  Buffer.concat([
    createHash("sha256").update(party.id).digest(),
    Buffer.from([flags, 0, 0, 0, 1]),
    ...more,
  ])

const encodeBase64url = (value: Buffer): string => value.toString("base64url")

function creation(format: string, statement: Buffer): string {
  const attested = [
    Buffer.alloc(16),
    Buffer.from([0, credentialId.length]),
    credentialId,
    coseKey(),
  ]
  const attestationObject = map(
    [text("fmt"), text(format)],
    [text("attStmt"), statement],
    [text("authData"), bytes(dataOf(0x45, ...attested))],
  )
  return JSON.stringify({
    id: encodeBase64url(credentialId),
    response: {
      clientDataJSON: encodeBase64url(clientData("webauthn.create")),
      attestationObject: encodeBase64url(attestationObject),
      transports: ["internal", "hybrid"],
    },
  })
}

function assertion(): string {
  const client = clientData("webauthn.get")
  const data = dataOf(0x05)
  const hash = createHash("sha256").update(client).digest()
  return JSON.stringify({
    id: encodeBase64url(credentialId),
    response: {
      clientDataJSON: encodeBase64url(client),
      authenticatorData: encodeBase64url(data),
      signature: encodeBase64url(sign(null, Buffer.concat([data, hash]), key)),
      userHandle: "AAAA",
    },
  })
}

const tokens = [
  "id",
  "response",
  "clientDataJSON",
  "attestationObject",
  "authenticatorData",
  "signature",
  "transports",
  "userHandle",
  "fmt",
  "attStmt",
  "authData",
  "none",
  "packed",
  "fido-u2f",
  "tpm",
  "android-key",
  "android-safetynet",
  "apple",
  "alg",
  "sig",
  "x5c",
  "ver",
  "certInfo",
  "webauthn.get",
  "webauthn.create",
  "challenge",
  "origin",
  "tokenBinding",
  "crossOrigin",
]

const jsonIn = (input: Buffer): unknown => JSON.parse(input.toString())
const isSyntaxError = (error: unknown): boolean => error instanceof SyntaxError

const createPackedAttestation = () =>
  map(
    [text("alg"), int(-8)],
    [text("sig"), bytes(Buffer.alloc(64))],
    [text("x5c"), Buffer.concat([head(4, 1), bytes(Buffer.alloc(20, 0x30))])],
  )

/** WebAuthn §7.1: a browser's registration response, which contains CBOR. */
export const webauthnRegistration = fuzzTarget({
  name: "webauthn-registration",
  seeds: () => [
    creation("none", map()),
    creation("packed", createPackedAttestation()),
    creation("fido-u2f", createPackedAttestation()),
    creation("tpm", createPackedAttestation()),
    creation(
      "android-safetynet",
      map([text("ver"), text("1")], [text("response"), bytes(Buffer.from("a.b.c"))]),
    ),
    creation("apple", createPackedAttestation()),
  ],
  tokens,
  isRejection: isSyntaxError,
  parse: (input) => verifyRegistration(jsonIn(input), { challenge, party, isUserVerified: true }),
  check: (created, input) => {
    if (!created) return
    const { response } = Object(jsonIn(input))
    const client = JSON.parse(Buffer.from(response.clientDataJSON, "base64url").toString())
    requireEqual(client.type, "webauthn.create", "the client data is of a registration")
    requireEqual(client.challenge, challenge, "the challenge is ours")
    requireEqual(client.origin, party.origins[0], "the page is ours")
    const id = Buffer.from(created.credentialId, "base64url")
    requireProperty(id.length > 0 && id.length <= 1023, "WebAuthn §4: an id has at most 1023 bytes")
    requireProperty(
      created.publicKey !== "" && Number.isInteger(created.signCount),
      "there is a key and a count",
    )
    requireProperty(created.transports.length <= 8, "there are few transports")
    requireProperty(/^[\da-f-]{36}$/.test(created.aaguid), "the model of the key is a UUID")
  },
})

const storedKey = {
  credentialId: encodeBase64url(credentialId),
  publicKey: encodeBase64url(coseKey()),
  signCount: 0,
  state: "ready",
  transports: [],
  aaguid: "",
}

const expected = {
  key: storedKey,
  challenge,
  party,
  isUserVerified: true,
} as unknown as Parameters<typeof verifyAssertion>[1]

/** The signed content of an assertion: the signed bytes and the signature. */
const signedContent = (json: string) => {
  const { response } = Object(JSON.parse(json))
  const decoded = ["clientDataJSON", "authenticatorData", "signature"].map((name) =>
    Buffer.from(String(response[name]), "base64url").toString("hex"),
  )
  return decoded
}

/** WebAuthn §7.2: a browser's assertion of a key. */
export const webauthnAssertion = fuzzTarget({
  name: "webauthn-assertion",
  seeds: () => [assertion(), assertion().replace("userHandle", "other")],
  tokens,
  isRejection: isSyntaxError,
  parse: async (input) => {
    const response = parseAssertion(jsonIn(input))
    return response && (await verifyAssertion(response, expected))
  },
  check: (proven, input) => {
    requireProperty(
      proven !== undefined || input.toString() !== assertion(),
      "what was signed is accepted",
    )
    if (!proven) return
    requireEqual(
      signedContent(input.toString()),
      signedContent(assertion()),
      "only what was signed is proven",
    )
    requireProperty(
      proven.isUserVerified && proven.signCount === 1,
      "the flags and the count are as signed",
    )
  },
})
