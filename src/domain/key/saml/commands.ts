import { createHmac } from "node:crypto"
import { randomToken } from "../../../kernel/crypto/random.ts"
import { type Cx, cacheQuery, type Draft, type Transaction } from "../../../store/index.ts"
import type { XmlSigner } from "../../../xml/sign.ts"
import { requireInstance } from "../../instance/index.ts"
import { createCertifiedPair, importPrivateKey } from "./certificate.ts"
import { type KeyPairEvent, keyPair } from "./model.ts"
import { type KeyPairRow, listKeyPairs } from "./view.ts"

const dayMs = 86_400_000

/** Certificates are copied to applications manually, so they are valid for long. */
const certificateLifetimeMs = 3 * 365 * dayMs

/** A successor is added to the metadata this long before the certificate expires. */
const successorLeadMs = 120 * dayMs

/**
 * The successor is announced for this long before it signs; the previous certificate is still valid
 * then.
 */
const announcementMs = 90 * dayMs

/** The SAML keys of an instance. */
export type SamlKeys = XmlSigner & {
  /**
   * Certificates of all keys that sign, or whose signatures are still valid; DER in base64, oldest
   * first.
   */
  readonly certificates: readonly string[]
  /**
   * A persistent NameID that reveals nothing else: the same for the same `context`, whichever key
   * signs.
   */
  readonly persistentNameId: (context: string) => string
}

/** The SAML keys of an instance. The first call creates them. */
export async function getSamlKeys(cx: Cx): Promise<SamlKeys> {
  if (listKeyPairs(cx).length === 0) await addPair(cx, undefined)
  return cachedKeys(cx)
}

/**
 * Performs the rotation steps that are due: adds a successor to the metadata ahead of time and
 * removes expired key pairs. An instance that has never used SAML has none.
 */
export async function rotateSamlKeys(cx: Cx): Promise<void> {
  const rows = listKeyPairs(cx)
  const now = cx.clock.now()
  const newest = rows.at(-1)
  if (newest && now >= newest.expires - successorLeadMs) await addPair(cx, newest)
  for (const row of rows) {
    if (row !== newest && now >= row.expires) {
      await cx.store.transact(cx, (tx) => removePair(tx, row.id))
    }
  }
}

/** The key pair that signs: the newest whose `signsFrom` has passed. */
function signingPair(rows: readonly KeyPairRow[], now: number): KeyPairRow {
  const ready = rows.filter(({ signs_from }) => signs_from <= now)
  const row = ready.at(-1) ?? rows[0]
  if (!row) throw new Error("there is no SAML signing key pair")
  return row
}

type KeyPairCache = {
  readonly rows: readonly KeyPairRow[]
  readonly unsealed: Map<string, SamlKeys>
}

const keyPairsOf = cacheQuery(
  (cx): KeyPairCache => ({ rows: listKeyPairs(cx), unsealed: new Map() }),
  [keyPair.stream],
)

async function cachedKeys(cx: Cx): Promise<SamlKeys> {
  const { rows, unsealed } = keyPairsOf(cx)
  const row = signingPair(rows, cx.clock.now())
  const before = unsealed.get(row.id)
  if (before) return before
  const key = await importPrivateKey(unseal(cx, row.sealed, `key_pair/${row.id}`))
  const names = unseal(cx, row.sealed_names, nameSealContextOf(cx))
  const keys: SamlKeys = {
    certificate: row.certificate,
    certificates: rows.map(({ certificate }) => certificate),
    hash: "sha256",
    sign: async (bytes) =>
      new Uint8Array(await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key, bytes)),
    persistentNameId: (context) => createHmac("sha256", names).update(context).digest("base64url"),
  }
  unsealed.set(row.id, keys)
  return keys
}

function unseal(cx: Cx, sealed: string, context: string): string {
  const plain = cx.secrets.open("seal", sealed, context)
  if (plain === undefined) throw new Error("the private key of a SAML key pair can't be unsealed")
  return plain
}

const nameSealContextOf = (cx: Cx): string => `saml_names/${cx.instance}`

/** Generates and adds a key pair; no-op if another successor was added concurrently. */
async function addPair(cx: Cx, before: KeyPairRow | undefined): Promise<void> {
  const now = cx.clock.now()
  const expires = now + certificateLifetimeMs
  const host = new URL(requireInstance(cx).publicUrl).hostname
  // An hour for clock skew.
  const made = await createCertifiedPair(cx.random, {
    name: host,
    from: now - dayMs / 24,
    to: expires,
  })
  const id = cx.ids.next()
  const names = before
    ? unseal(cx, before.sealed_names, nameSealContextOf(cx))
    : randomToken(cx.random)
  const added: Draft<KeyPairEvent> = {
    type: "key_pair.added",
    data: {
      usage: "saml",
      certificate: made.certificate,
      expires,
      signsFrom: before ? Math.min(now + announcementMs, Math.max(now, before.expires)) : now,
    },
    private: {
      sealed: cx.secrets.seal("seal", made.privateKey, `key_pair/${id}`),
      sealedNames: cx.secrets.seal("seal", names, nameSealContextOf(cx)),
    },
    claims: [{ take: afterClaim, key: before?.id ?? "", taken: successorTaken }],
  }
  await cx.store.transact(cx, (tx) => {
    if (!tx.holder(afterClaim, before?.id ?? "")) tx.append(keyPair, id, [added])
  })
}

/** Taken by the successor of a key pair, so that two nodes can't create two. */
const afterClaim = "key_pair_after"

const successorTaken = {
  id: "key_pair.made_elsewhere",
  message: "the certificate was created at the same time by another node; try again",
}

function removePair(tx: Transaction, id: string): void {
  if (tx.state(keyPair, id).status !== "there") return
  const removed: Draft<KeyPairEvent> = { type: "key_pair.removed", data: {}, erase: {} }
  tx.append(keyPair, id, [removed])
}
