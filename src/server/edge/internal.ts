import { X509Certificate } from "node:crypto"
import { ownAuthority, type Root } from "../../boot/edge/kept.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import type { Issuer, Shelf } from "./own-certificates.ts"
import { createLeaf, createRoot, type Pair } from "./x509.ts"

const dayMs = 86_400_000
const rootDays = 3650
/** No device takes more than 398 of a public authority; of ours it need not be more. */
const leafDays = 90

type Ground = { readonly clock: Clock; readonly random: Random; readonly shelf: Shelf }

/** An authority of our own: a root for each host, made once and sealed, which devices trust. */
export function internalIssuer({ clock, random, shelf }: Ground): Issuer {
  return {
    by: ownAuthority,
    issue: async (host) => {
      const root = await rootFor({ clock, random, shelf }, host)
      // Clocks of devices are a little off.
      const from = clock.now() - dayMs
      const ends = Math.min(from + leafDays * dayMs, endOf(root))
      const leaf = await createLeaf(root, { host, random, from, to: ends })
      return { ...leaf, from, ends }
    },
  }
}

/** The root of a host, where it has one. */
export const rootOf = (shelf: Pick<Shelf, "kept">, host: string): Root | undefined =>
  shelf.kept().roots.find((each) => each.host === host)

async function rootFor({ clock, random, shelf }: Ground, host: string): Promise<Pair> {
  const about = `root of ${host}`
  const found = rootOf(shelf, host)
  // Once it has ended nobody trusts it any more, and another is no worse.
  if (found && endOf(found) > clock.now() + dayMs) {
    return { cert: found.cert, key: shelf.open(found.sealedKey, about) }
  }
  const from = clock.now() - dayMs
  const made = await createRoot(host, { from, to: from + rootDays * dayMs }, random)
  const kept = shelf.kept()
  const fresh = { host, cert: made.cert, sealedKey: shelf.seal(made.key, about) }
  shelf.put({ ...kept, roots: [...kept.roots.filter((each) => each.host !== host), fresh] })
  return made
}

const endOf = ({ cert }: { readonly cert: string }): number =>
  Date.parse(new X509Certificate(cert).validTo)
