import { verify as verifyBytes, X509Certificate } from "node:crypto"
import type { Element } from "../text/xml.ts"
import {
  digestAlgorithms,
  enveloped,
  exclusiveC14n,
  isSignatureAlgorithm,
  signatureAlgorithmList,
  signatureAlgorithms,
} from "./names.ts"
import {
  allOf,
  attributeOf,
  childOf,
  childrenOf,
  type Reading,
  readMessage,
  textOf,
} from "./read.ts"

/** A message, as text and read; see `readMessage`. */
export type Message = { readonly text: string; readonly root: Element }

/**
 * The one signature of a message, which stands right below its root; undefined for none. Refuses a
 * message in which a signature stands anywhere else, or twice: nobody can say what it is for.
 */
export const signatureIn = (root: Element, reading: Reading): Element | undefined =>
  signaturesIn(root, undefined, reading).outer

/** The signatures of a message, and of the one element in it that may have its own. */
export type Signatures = {
  readonly outer: Element | undefined
  readonly inner: Element | undefined
}

/** The same where one element right below the root may be signed by itself, as an assertion is. */
export function signaturesIn(
  root: Element,
  inner: Element | undefined,
  reading: Reading,
): Signatures {
  const signatures = {
    outer: childOf(root, ["ds", "Signature"], reading),
    inner: inner && childOf(inner, ["ds", "Signature"], reading),
  }
  const known = [signatures.outer, signatures.inner]
  if (allOf(root, "ds", "Signature").some((each) => !known.includes(each))) {
    throw reading.refusedError(`${reading.name} has a signature where none may stand`)
  }
  return signatures
}

/**
 * Checks the enveloped signature of an element and answers the element as it was signed, read anew
 * from exactly the bytes that the signature is about: what stands around it is not looked at any
 * more. `keys` are those that the sender has registered, in PEM; a key that comes along in the
 * message says nothing. Undefined where none of them has signed it.
 */
export async function signedElement(
  { text }: Pick<Message, "text">,
  { of, signature }: { readonly of: Element; readonly signature: Element },
  { keys, reading }: { readonly keys: readonly string[]; readonly reading: Reading },
): Promise<Element | undefined> {
  mustBePlain(of, signature, reading)
  const { check, begin } = await checkOf(keys)
  const value = textOf(childOf(signature, ["ds", "SignatureValue"], reading), reading)
  const isGood = isSigned(() => {
    check.loadSignature(signature.toString())
    begin(value)
    return check.checkSignature(text)
  })
  const [bytes, ...others] = isGood ? check.getSignedReferences() : []
  if (bytes === undefined || others.length > 0) return undefined
  const read = await readMessage(bytes, reading)
  const isSame =
    read.namespaceURI === of.namespaceURI &&
    read.localName === of.localName &&
    read.getAttribute("ID") === of.getAttribute("ID")
  return isSame ? read : undefined
}

/**
 * The library's check, which takes the signature of any of the keys: to try one costs next to
 * nothing, and to read the message for each of them would cost a stranger's messages that often.
 * Once `begin` is called, it breaks off where no key has signed what says what is signed, and does
 * not write a whole message canonically for whoever sends one.
 */
async function checkOf(keys: readonly string[]) {
  const { SignedXml } = await import("xml-crypto")
  const check = new SignedXml({ publicCert: keys[0] ?? "", getCertFromKeyInfo: () => null })
  // SAML has no other id; the library would walk through all of the message for each.
  check.idAttributes = ["ID"]
  const isBy = (name: string, signed: string, value: string) =>
    isSignedBy(keys, name, { bytes: Buffer.from(signed), signature: Buffer.from(value, "base64") })
  for (const name of signatureAlgorithmList) {
    const usual = check.SignatureAlgorithms[name]
    if (!usual) throw new Error(`the library does not know ${name}`)
    check.SignatureAlgorithms[name] = new Proxy(usual, {
      construct: (Algorithm) =>
        Object.assign(new Algorithm(), {
          verifySignature: (signed: string, _: unknown, value: string) => isBy(name, signed, value),
        }),
    })
  }
  const canonical = check.CanonicalizationAlgorithms[exclusiveC14n]
  if (!canonical) throw new Error(`the library does not know ${exclusiveC14n}`)
  const begin = (value: string) => {
    check.CanonicalizationAlgorithms[exclusiveC14n] = new Proxy(canonical, {
      construct: (Algorithm) => {
        const usual = new Algorithm()
        return {
          getAlgorithmName: () => usual.getAlgorithmName(),
          process: (node, options) => {
            const written = usual.process(node, options)
            const isInfo = node.nodeName.replace(/^.*:/, "") === "SignedInfo"
            const name = check.signatureAlgorithm ?? ""
            if (isInfo && !isBy(name, `${written}`, value)) throw new Error("no key signed this")
            return written
          },
        } satisfies InstanceType<typeof canonical>
      },
    })
  }
  return { check, begin }
}

/** The library throws on some signatures that are wrong, and answers false on others. */
function isSigned(check: () => boolean): boolean {
  try {
    return check()
  } catch {
    return false
  }
}

/**
 * SAML Core §5.4: one reference, to the element by its ID; nothing done to it but taking the
 * signature out and writing it canonically; algorithms that are good enough.
 */
function mustBePlain(of: Element, signature: Element, reading: Reading): void {
  const refused = (why: string) => reading.refusedError(`the signature of ${reading.name} ${why}`)
  const one = (parent: Element, name: string): Element => {
    const child = childOf(parent, ["ds", name], reading)
    if (!child) throw refused(`has no ${name}`)
    return child
  }
  const algorithmOf = (element: Element) => attributeOf(element, "Algorithm") ?? ""
  if (childrenOf(signature, "ds", "Object").length > 0) throw refused("must not have an Object")
  const info = one(signature, "SignedInfo")
  const reference = one(info, "Reference")
  const id = of.getAttribute("ID")
  if (!id || reference.getAttribute("URI") !== `#${id}`) {
    throw refused("must be about the element that it stands in, by its ID")
  }
  const transforms = childrenOf(one(reference, "Transforms"), "ds", "Transform").map(algorithmOf)
  if (transforms.join(" ") !== `${enveloped} ${exclusiveC14n}`) {
    throw refused("must have the transforms enveloped-signature and xml-exc-c14n, and no others")
  }
  if (algorithmOf(one(info, "CanonicalizationMethod")) !== exclusiveC14n) {
    throw refused("must be canonicalised by xml-exc-c14n")
  }
  const isStrong =
    isSignatureAlgorithm(algorithmOf(one(info, "SignatureMethod"))) &&
    digestAlgorithms.includes(algorithmOf(one(reference, "DigestMethod")))
  if (!isStrong) throw refused("must be RSA with SHA-256 or SHA-512")
}

/** Whether one of the keys has signed these bytes, by an algorithm that is good enough. */
export function isSignedBy(
  keys: readonly string[],
  algorithm: string,
  { bytes, signature }: { readonly bytes: Uint8Array; readonly signature: Uint8Array },
): boolean {
  if (!isSignatureAlgorithm(algorithm)) return false
  const hash = signatureAlgorithms[algorithm]
  return keys.some((key) => verifyBytes(hash, bytes, key, signature))
}

/** RSA bits below which a key proves nothing any more. */
const bitsMin = 2048
const bitsMax = 8192

/**
 * The public key of a certificate in base64, as metadata has it, in PEM. Undefined for what is no
 * certificate, and for keys other than RSA from 2048 bits. The rest of the certificate means
 * nothing (SAML Metadata §2.4.1.1): trust comes with the metadata.
 */
export function keyOfCertificate(base64: string): string | undefined {
  const key = readCertificate(base64.replaceAll(/\s/g, ""))?.publicKey
  const { modulusLength = 0 } = key?.asymmetricKeyDetails ?? {}
  if (key?.asymmetricKeyType !== "rsa" || modulusLength < bitsMin || modulusLength > bitsMax) {
    return undefined
  }
  return key.export({ format: "pem", type: "spki" }).toString()
}

function readCertificate(base64: string): X509Certificate | undefined {
  try {
    return new X509Certificate(Buffer.from(base64, "base64"))
  } catch {
    return undefined
  }
}
