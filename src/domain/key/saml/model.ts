import { aggregate, type Event } from "../../../store/index.ts"

export type KeyPairEvent =
  | Event<
      "key_pair.added",
      {
        readonly usage: "saml"
        /** DER in base64, without line breaks. */
        readonly certificate: string
        /** When the certificate ends, ms UTC. */
        readonly expires: number
        /** From when on it signs, ms UTC: until then others have time to learn of it. */
        readonly signsFrom: number
      },
      {
        readonly sealed: string
        /** What the lasting names of people are made with; each successor carries the same. */
        readonly sealedNames: string
      }
    >
  | Event<"key_pair.removed">

export type KeyPair = { readonly status: "absent" | "there" | "removed" }

/** A key pair with a certificate; what speaks SAML knows us by it. */
export const keyPair = aggregate<KeyPairEvent, KeyPair>({
  stream: "key_pair",
  initial: { status: "absent" },
  evolve: {
    "key_pair.added": () => ({ status: "there" }),
    "key_pair.removed": () => ({ status: "removed" }),
  },
})
