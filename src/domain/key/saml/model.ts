import { aggregate, type Event } from "../../../store/index.ts"

export type KeyPairEvent =
  | Event<
      "key_pair.added",
      {
        readonly usage: "saml"
        /** DER in base64, without line breaks. */
        readonly certificate: string
        /** When the certificate expires, ms UTC. */
        readonly expires: number
        /** When the key pair starts to sign, ms UTC; before that, it is only in the metadata. */
        readonly signsFrom: number
      },
      {
        readonly sealed: string
        /** The secret for persistent NameIDs; each successor has the same one. */
        readonly sealedNames: string
      }
    >
  | Event<"key_pair.removed">

export type KeyPair = { readonly status: "absent" | "there" | "removed" }

/** A key pair with a certificate that identifies the instance to SAML applications. */
export const keyPair = aggregate<KeyPairEvent, KeyPair>({
  stream: "key_pair",
  initial: { status: "absent" },
  evolve: {
    "key_pair.added": () => ({ status: "there" }),
    "key_pair.removed": () => ({ status: "removed" }),
  },
})
