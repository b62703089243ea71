import { X509Certificate } from "node:crypto"
import { ownAuthority, type RootCertificate } from "../../boot/edge/certificate-file.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import type { CertificateStore, Issuer } from "./managed-certificates.ts"
import { type CertificatePair, createLeaf, createRoot } from "./x509.ts"

const dayMs = 86_400_000
const rootDays = 3650
/** Devices limit certificates of public authorities to 398 days; ours are shorter. */
const leafDays = 90

type IssuerParts = {
  readonly clock: Clock
  readonly random: Random
  readonly shelf: CertificateStore
}

/** The internal authority: one root per host, created once and sealed, which devices must trust. */
export function createInternalIssuer({ clock, random, shelf }: IssuerParts): Issuer {
  return {
    by: ownAuthority,
    issue: async (host) => {
      const root = await getRoot({ clock, random, shelf }, host)
      // The clocks of devices can differ a little.
      const from = clock.now() - dayMs
      const ends = Math.min(from + leafDays * dayMs, expiryOf(root))
      const leaf = await createLeaf(root, { host, random, from, to: ends })
      return { ...leaf, from, ends }
    },
  }
}

/** The root of a host, if it exists. */
export const findRoot = (
  shelf: Pick<CertificateStore, "content">,
  host: string,
): RootCertificate | undefined => shelf.content().roots.find((each) => each.host === host)

async function getRoot(
  { clock, random, shelf }: IssuerParts,
  host: string,
): Promise<CertificatePair> {
  const about = `root of ${host}`
  const found = findRoot(shelf, host)
  // An expired root is no longer trusted, so a new one can replace it.
  if (found && expiryOf(found) > clock.now() + dayMs) {
    return { cert: found.cert, key: shelf.open(found.sealedKey, about) }
  }
  const from = clock.now() - dayMs
  const newRoot = await createRoot(host, { from, to: from + rootDays * dayMs }, random)
  const content = shelf.content()
  const fresh = { host, cert: newRoot.cert, sealedKey: shelf.seal(newRoot.key, about) }
  shelf.write({ ...content, roots: [...content.roots.filter((each) => each.host !== host), fresh] })
  return newRoot
}

const expiryOf = ({ cert }: { readonly cert: string }): number =>
  Date.parse(new X509Certificate(cert).validTo)
