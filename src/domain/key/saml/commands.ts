import { createHmac } from "node:crypto"
import { randomToken } from "../../../kernel/crypto/random.ts"
import { type Cx, cached, type Draft, type Transaction } from "../../../store/index.ts"
import type { XmlSigner } from "../../../xml/sign.ts"
import { requireInstance } from "../../instance/index.ts"
import { createCertified, privateKeyOf } from "./certificate.ts"
import { type KeyPairEvent, keyPair } from "./model.ts"
import { type KeyPairRow, listKeyPairs } from "./view.ts"

const day = 86_400_000

/** A certificate is copied by hand into many applications: it lasts as long as these do. */
const lifetime = 3 * 365 * day

/** So long before the end there is a second one, in the metadata and nowhere else. */
const successorBefore = 120 * day

/** So long others have to learn of it, until it signs; the first one's end is still ahead then. */
const announced = 90 * day

/** What an instance speaks SAML with. */
export type SamlKeys = XmlSigner & {
  /** All that may sign, or have signed what still counts; DER in base64, oldest first. */
  readonly certificates: readonly string[]
  /**
   * A name of a person that lasts and tells nobody else anything: the same for the same `about`,
   * whichever key signs.
   */
  readonly lastingName: (about: string) => string
}

/** The keys of an instance; the first to ask has the first of them made. */
export async function samlKeys(cx: Cx): Promise<SamlKeys> {
  if (listKeyPairs(cx).length === 0) await addPair(cx, undefined)
  return known(cx)
}

/**
 * Does what is due in the life of the keys: puts a successor into the metadata ahead of time, and
 * takes out what has ended. An instance that nobody has asked for SAML has none.
 */
export async function rotateSamlKeys(cx: Cx): Promise<void> {
  const rows = listKeyPairs(cx)
  const now = cx.clock.now()
  const newest = rows.at(-1)
  if (newest && now >= newest.expires - successorBefore) await addPair(cx, newest)
  for (const row of rows) {
    if (row !== newest && now >= row.expires) {
      await cx.store.transact(cx, (tx) => removePair(tx, row.id))
    }
  }
}

/** The pair that signs: the newest whose time has come. */
function signing(rows: readonly KeyPairRow[], now: number): KeyPairRow {
  const ready = rows.filter(({ signs_from }) => signs_from <= now)
  const row = ready.at(-1) ?? rows[0]
  if (!row) throw new Error("there is no key pair to sign with")
  return row
}

type Known = { readonly rows: readonly KeyPairRow[]; readonly opened: Map<string, SamlKeys> }

const keyPairsOf = cached(
  (cx): Known => ({ rows: listKeyPairs(cx), opened: new Map() }),
  [keyPair.stream],
)

async function known(cx: Cx): Promise<SamlKeys> {
  const { rows, opened } = keyPairsOf(cx)
  const row = signing(rows, cx.clock.now())
  const before = opened.get(row.id)
  if (before) return before
  const key = await privateKeyOf(openedOf(cx, row.sealed, `key_pair/${row.id}`))
  const names = openedOf(cx, row.sealed_names, namesAbout(cx))
  const keys: SamlKeys = {
    certificate: row.certificate,
    certificates: rows.map(({ certificate }) => certificate),
    hash: "sha256",
    sign: async (bytes) =>
      new Uint8Array(await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key, bytes)),
    lastingName: (about) => createHmac("sha256", names).update(about).digest("base64url"),
  }
  opened.set(row.id, keys)
  return keys
}

function openedOf(cx: Cx, sealed: string, about: string): string {
  const plain = cx.secrets.open("seal", sealed, about)
  if (plain === undefined) throw new Error("the private half of a key pair can't be opened")
  return plain
}

const namesAbout = (cx: Cx): string => `saml_names/${cx.instance}`

/** Makes a pair and adds it; nothing happens where another one was added behind the same pair. */
async function addPair(cx: Cx, before: KeyPairRow | undefined): Promise<void> {
  const now = cx.clock.now()
  const expires = now + lifetime
  const host = new URL(requireInstance(cx).publicUrl).hostname
  // An hour for clocks that are wrong.
  const made = await createCertified(cx.random, { name: host, from: now - day / 24, to: expires })
  const id = cx.ids.next()
  const names = before ? openedOf(cx, before.sealed_names, namesAbout(cx)) : randomToken(cx.random)
  const added: Draft<KeyPairEvent> = {
    type: "key_pair.added",
    data: {
      usage: "saml",
      certificate: made.certificate,
      expires,
      signsFrom: before ? Math.min(now + announced, Math.max(now, before.expires)) : now,
    },
    private: {
      sealed: cx.secrets.seal("seal", made.privateKey, `key_pair/${id}`),
      sealedNames: cx.secrets.seal("seal", names, namesAbout(cx)),
    },
    claims: [{ take: afterClaim, key: before?.id ?? "", taken: takenFault }],
  }
  await cx.store.transact(cx, (tx) => {
    if (!tx.holder(afterClaim, before?.id ?? "")) tx.append(keyPair, id, [added])
  })
}

/** Held by the pair that follows another one, so that two nodes don't make two. */
const afterClaim = "key_pair_after"

const takenFault = {
  id: "key_pair.made_elsewhere",
  message: "the certificate was made at the same moment; please try again",
}

function removePair(tx: Transaction, id: string): void {
  if (tx.state(keyPair, id).status !== "there") return
  const removed: Draft<KeyPairEvent> = { type: "key_pair.removed", data: {}, erase: {} }
  tx.append(keyPair, id, [removed])
}
